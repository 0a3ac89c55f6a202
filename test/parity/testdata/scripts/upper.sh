#!/bin/sh
# A post-renderer that replaces a word and counts its arguments.
sed "s/hello/HELLO with $# arguments/"
