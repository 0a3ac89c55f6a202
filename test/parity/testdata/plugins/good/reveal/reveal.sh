#!/bin/sh
echo "args: $*"
env | grep '^HELM_' | sort
