-- Suggests the names of releases.
local list = helm.run("list", "--short")
if list.code == 0 then io.write(list.stdout) end
print(":4") -- no files
