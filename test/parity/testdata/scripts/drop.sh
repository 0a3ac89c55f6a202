#!/bin/sh
# A post-renderer that drops every comment.
grep -v '^#'
