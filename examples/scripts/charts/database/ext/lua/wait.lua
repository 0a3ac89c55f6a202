-- The operator reports in status.phase when the database accepts connections.
events.on("wait", 0.5, function(name, namespace)
  local database = cluster.get("scripts.example.com/v1", "Database", namespace, name)
  local phase = database and database.status and database.status.phase or "unknown"
  log("the database is in the phase ", phase)
  if phase == "Failed" then
    error("the database cannot be started")
  end
  return phase == "Running"
end)
