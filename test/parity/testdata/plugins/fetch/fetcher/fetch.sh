#!/bin/sh
# Called with the files of a TLS client and a URL: shelf://NAME/FILE.
echo "fetching $4 with '$1' '$2' '$3' as $HELM_PLUGIN_NAME for '$HELM_PLUGIN_USERNAME'" >&2
file=shelf/${4##*/}
if [ ! -f "$file" ]; then echo "no $file" >&2; exit 2; fi
cat "$file"
