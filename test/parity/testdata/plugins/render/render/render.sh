#!/bin/sh
sed "s/size: .*/size: ${1:-rendered}/"
