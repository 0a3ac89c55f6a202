-- helm diff RELEASE [--detailed-exitcode]

local release, detailed
for _, argument in ipairs(arg) do
  if argument == "--detailed-exitcode" then
    detailed = true
  elseif argument:sub(1, 1) == "-" or release then
    io.stderr:write("unknown argument ", argument, "\n")
    os.exit(1)
  else
    release = argument
  end
end
if not release then
  io.stderr:write("usage: helm diff RELEASE [--detailed-exitcode]\n")
  os.exit(1)
end

local namespace = os.getenv("HELM_NAMESPACE")
local different = false

local function report(object, text)
  different = true
  print(object .. ": " .. text)
end

local function show(value)
  if value == nil then return "nothing" end
  return json.encode(value)
end

-- compare reports the fields of want whose values in got are different. Fields that only
-- the cluster has are not differences.
local function compare(object, path, want, got)
  if type(want) ~= "table" or type(got) ~= "table" then
    if want ~= got then
      report(object, path .. " is " .. show(got) .. ", and " .. show(want) .. " in the release")
    end
    return
  end
  local keys = {}
  for key in pairs(want) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local step = type(key) == "number" and "[" .. key - 1 .. "]" or "." .. key
    compare(object, path .. step, want[key], got[key])
  end
end

-- documents returns the YAML documents of a text.
local function documents(text)
  local result, lines = {}, {}
  for line in (text .. "\n---\n"):gmatch("([^\n]*)\n") do
    if line:match("^%-%-%-%s*$") then
      local document = yaml.decode(table.concat(lines, "\n"))
      if type(document) == "table" and document.kind then result[#result + 1] = document end
      lines = {}
    else
      lines[#lines + 1] = line
    end
  end
  return result
end

local manifest = helm.run("get", "manifest", release)
if manifest.code ~= 0 then
  io.stderr:write(manifest.stderr)
  os.exit(manifest.code)
end

for _, want in ipairs(documents(manifest.stdout)) do
  local object = want.kind .. "/" .. want.metadata.name
  if want.kind == "Secret" then
    io.stderr:write(object, " is not compared, because it is a Secret\n")
  else
    local got = cluster.get(want.apiVersion, want.kind, want.metadata.namespace or namespace, want.metadata.name)
    if got then
      compare(object, "", want, got)
    else
      report(object, "does not exist")
    end
  end
end

if different and detailed then os.exit(2) end
