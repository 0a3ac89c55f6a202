-- Writes the file at a URL such as github://owner/repository/v1.0.0/shop-1.0.0.tgz. Like all
-- downloaders, it gets four arguments: a client certificate, its key, a CA bundle and the URL.

local owner, repository, tag, file = arg[4]:match("^github://([^/]+)/([^/]+)/([^/]+)/([^/]+)$")
if not owner then error("the URL must be github://OWNER/REPOSITORY/TAG/FILE", 0) end

local headers = {}
local token = os.getenv("GITHUB_TOKEN")
if token then headers.Authorization = "Bearer " .. token end

local server = os.getenv("GITHUB_SERVER_URL") or "https://github.com"
local url = table.concat({server, owner, repository, "releases", "download", tag, file}, "/")
local response = http.get(url, headers)
if response.status ~= 200 then error(url .. " cannot be downloaded: HTTP status " .. response.status, 0) end
io.write(response.body)
