-- Label everything, including the resources of the database, whose chart has no value for that.
events.on("post-render", 0.5, function(name, namespace, chart, values, manifest)
  for _, object in ipairs(manifest) do
    object.metadata.labels = object.metadata.labels or {}
    object.metadata.labels["example.com/team"] = values.team
  end
end)
