-- Refuse what the schema of the values cannot express.
events.on("pre-validate", 0.5, function(name, namespace, chart, values)
  if values.environment == "production" and values.replicas < 2 then
    error("production needs at least 2 replicas: increase the value replicas")
  end
end)
