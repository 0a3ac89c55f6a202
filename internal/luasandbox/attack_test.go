// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// tooLong is the error of the attacks that run until the limit of time, and tooMuch of those that
// can reach the limit of memory before. They run with a smaller limit of time than the default.
const (
	tooLong = "takes too long"
	tooMuch = "the script "
)

// attacks contains scripts that try to exhaust the machine. Each of them must end with an error
// that contains want, and names the file.
var attacks = []struct{ name, script, want string }{
	{"loop", `while true do end`, tooLong},
	{"loop with the default limit", `while true do end`, "it ran for more than 5s"},
	{"loop of goto", `::a:: goto a`, tooLong},
	{"pcall around a loop", `while true do pcall(function() while true do end end) end`, tooLong},
	{"nested pcall", `local function f() pcall(f) pcall(f) end f()`, tooLong},
	{"xpcall around a loop", `local function f() while true do end end while true do xpcall(f, function() f() end) end`, tooLong},
	{"xpcall with a library function", `while true do xpcall(function() while true do end end, tostring) end`, tooLong},
	{"recursion", `local function f() return 1 + f() end f()`, "stack overflow"},
	{"tail recursion", `local function f() return f() end f()`, "stack overflow"},
	{"recursion through metatables", `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k .. "x"] end println(t.a)`, "stack overflow"},
	{"metatables in a circle", `local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, {__index = a}) println(a.x)`, "too many recursions"},
	{"string of doubled length", `local s = "x" while true do s = s .. s end`, "a string can have at most"},
	{"string in a pcall", `local s = "x" while true do pcall(function() s = s .. s end) end`, tooLong},
	{"many strings", `local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end`, "too much memory"},
	{"large strings", `local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(8000000) end`, "too much memory"},
	{"large strings in a pcall", `local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = ("x"):rep(8000000) .. "y" end end) end`, "too much memory"},
	{"string.rep", `("x"):rep(1e10)`, "a string can have at most"},
	{"string.rep of negative size", `("x"):rep(4611686018427387905)`, "a string can have at most"},
	{"string.format", `string.format("%99999999d", 1)`, "invalid option"},
	{"string.format with strings", `local s = ("x"):rep(8e6) string.format("%s%s%s", s, s, s)`, "a string can have at most"},
	{"string.format of a literal", `local s = ("\n"):rep(8e6) string.format("%q", s)`, "a string can have at most"},
	{"string.upper", `local s = ("x"):rep(8e6) local t = {} while true do t[#t + 1] = s:upper() end`, "too much memory"},
	{"string.byte", `local s = ("x"):rep(8e6) s:byte(1, -1)`, "string slice too long"},
	{"table.concat", `local t = {} local s = ("x"):rep(1e5) for i = 1, 1000 do t[i] = s end table.concat(t)`, "a string can have at most"},
	{"table.concat of a huge range", `table.concat({}, "x", 1, 2^50)`, "invalid value"},
	{"gsub that grows", `local s = ("x"):rep(1e6) s:gsub("x", ("y"):rep(1e6))`, "a string can have at most"},
	{"gsub with captures that grow", `local s = ("x"):rep(1e6) s:gsub("(.*)", ("%1"):rep(1e5))`, "a string can have at most"},
	{"gsub with functions", `("x"):rep(8e6):gsub("x", function() while true do end end)`, tooLong},
	{"backtracking pattern", `("a"):rep(1000):find((".-"):rep(20) .. "b")`, "too many steps"},
	{"backtracking pattern in a pcall", `while true do pcall(string.find, ("a"):rep(1000), (".*"):rep(20) .. "b") end`, tooLong},
	{"backtracking gmatch", `for _ in ("a"):rep(1e6):gmatch(".-b") do end`, "too many steps"},
	{"balanced pattern", `("("):rep(8e6):find("%b()")`, "too many steps"},
	{"back references", `("x"):rep(8e6):find("(.*)(.*)%1%2%1y")`, "too many steps"},
	{"long pattern", `("x"):find(("x*"):rep(1e6))`, "a pattern can have at most"},
	{"nested captures", `("x"):find(("("):rep(1000))`, "more than 32 captures"},
	{"comparisons of strings", `local a, b = ("x"):rep(8e6), ("x"):rep(8e6) while a <= b do end`, tooLong},
	{"arithmetic with strings", `local s = ("x"):rep(8e6) while true do pcall(function() return s + 1 end) end`, tooLong},
	{"tonumber of strings", `local s = ("1"):rep(8e6) while true do tonumber(s) end`, tooLong},
	{"index of a list", `local t = {} t[67108863] = 1`, "the index 67108863 is too large"},
	{"index in a constructor", `local t = {[67108863] = 1}`, "the index 67108863 is too large"},
	{"index with rawset", `rawset({}, 67108863, 1)`, "the index 67108863 is too large"},
	{"index with table.insert", `table.insert({}, 67108863, 1)`, "the index 67108863 is too large"},
	{"index of several assignments", `local t, a = {} a, t[67108863] = 1, 2`, "the index 67108863 is too large"},
	{"index through __newindex", `local t = setmetatable({}, {__newindex = {}}) t[67108863] = 1`, "the index 67108863 is too large"},
	{"many indexes", `local tables = {} while true do local t = {} for i = 1, 20 do t[1048576] = 1 tables[#tables + 1] = t end end`, "too much memory"},
	{"list without end", `local t = {} for i = 1, 1e9 do t[i] = i end`, "is too large"},
	{"map without end", `local t = {} for i = 1, 1e9 do t["k" .. i] = true end`, "too much memory"},
	{"map with deleted keys", `local t = {} for i = 1, 1e9 do t["k" .. i] = true t["k" .. i] = nil end`, tooMuch},
	{"keys that are NaN", `local t = {} while true do t[0/0] = 1 end`, "cannot be NaN"},
	{"tables without end", `local t = {} while true do t = {t, {}, {}} end`, "too much memory"},
	{"large constructors", `local t = {} while true do t[#t + 1] = {` + strings.Repeat("x=1,", 60) + `} end`, "too much memory"},
	{"functions without end", `local t = {} while true do local x = t t = function() return x end end`, "too much memory"},
	{"arguments without end", `local function f(...) return f(1, ...) end f()`, "overflow"},
	{"unpack", `unpack({}, 1, 1e9)`, "too many results"},
	{"unpack of negative size", `unpack({}, -4611686018427387905, 4611686018427387905)`, "too many results"},
	{"unpack doubled", `local function f(...) return f(..., ...) end local t = {} for i = 1, 7000 do t[i] = i end local function g(...) local t = {...} return g(unpack(t), unpack(t)) end g(unpack(t)) f(unpack(t))`, "overflow"},
	{"sort without order", `local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t, function() return true end) end`, tooLong},
	{"sort that changes the list", `local t = {} for i = 1, 1000 do t[i] = i end while true do table.sort(t, function(a, b) t[#t + 1] = a return a > b end) end`, "is too large"},
	{"sort of long strings", `local t = {} local s = ("x"):rep(8e6) for i = 1, 1e6 do t[i] = s end table.sort(t)`, tooLong},
	{"output", `while true do println(("x"):rep(1000)) end`, "too much output"},
	{"output of empty lines", `while true do println() end`, "too much output"},
	{"output in a pcall", `while true do pcall(println, ("x"):rep(1e6)) end`, "too much output"},
	{"log", `while true do log("x") end`, "too much output"},
	{"output of a long line", `println(("x"):rep(8e6))`, "too much output"},
	{"error with a long message", `error(("x"):rep(8e6))`, "… (8000000 bytes)"},
	{"error with an object", `error(setmetatable({}, {__tostring = function() while true do end end}))`, "an error object of the type table"},
	{"__tostring without end", `tostring(setmetatable({}, {__tostring = function() while true do end end}))`, tooLong},
	{"__tostring of itself", `local t = {} setmetatable(t, {__tostring = function() return tostring(t) end}) tostring(t)`, "stack overflow"},
	{"coroutines", `while true do coroutine.create(function() end) end`, "nil"},
	{"string.dump", `string.dump(function() end)`, "attempt to call a non-function"},
	{"JSON of a circle", `local t = {} t.t = t json.encode(t)`, "nested more than 100 levels"},
	{"JSON that doubles", `local t = {} for i = 1, 60 do t = {t, t} end json.encode(t)`, "the value is too large"},
	{"JSON of long strings", `local s = ("\0"):rep(8e6) json.encode({s, s, s})`, "the value is too large"},
	{"JSON of escaped strings", `local t = {} local s = ("\0"):rep(1e6) while true do t[#t + 1] = json.encode(s) end`, "too much memory"},
	{"JSON of deep values", `local t = {} for i = 1, 1e5 do t = {t} end json.encode(t)`, "nested more than 100 levels"},
	{"deep JSON", `json.decode(("["):rep(1e6))`, "nested more than 100 levels"},
	{"large JSON", `local t = {} while true do t[#t + 1] = json.decode("[" .. ("[],"):rep(345000) .. "1]") end`, "too much memory"},
	{"long JSON", `json.decode(("x"):rep(8e6))`, "can have at most"},
	{"YAML of a circle", `local t = {} t.t = t yaml.encode(t)`, "nested more than 100 levels"},
	{"YAML that doubles", `local t = {} for i = 1, 60 do t = {t, t} end yaml.encode(t)`, "the value is too large"},
	{"large YAML to encode", `local t = {} for i = 1, 1e4 do t[i] = {} end while true do yaml.encode(t) end`, tooLong},
	{"deep YAML", `yaml.decode(("["):rep(1e6))`, "depth"},
	{"deep YAML in blocks", `yaml.decode(("- "):rep(5e5))`, "depth"},
	{"YAML with aliases", `local s = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" for i = 1, 9 do s = s .. ("a%d: &a%d [%s*a%d]\n"):format(i, i, ("*a%d,"):format(i - 1):rep(8), i - 1) end yaml.decode(s)`, "excessive aliasing"},
	{"large YAML", `local t = {} while true do t[#t + 1] = yaml.decode("[" .. ("[],"):rep(345000) .. "1]") end`, "too much memory"},
	{"YAML with many maps", `local t = {} while true do t[#t + 1] = yaml.decode("[" .. ("{a: 1},"):rep(145000) .. "1]") end`, tooMuch},
	{"YAML with many empty maps", `local t = {} while true do t[#t + 1] = yaml.decode("[" .. ("{},"):rep(340000) .. "1]") end`, tooMuch},
	{"large YAML in a pcall", `while true do pcall(yaml.decode, ("- a\n"):rep(250000)) end`, tooMuch},
	{"deep expressions", strings.Repeat("(", 200000), "at the end of the file"},
	{"deep tables", "x = " + strings.Repeat("{", 100000) + strings.Repeat("}", 100000), "nested more than 1000 levels"},
	{"deep blocks", strings.Repeat("do ", 30000) + strings.Repeat("end ", 30000), "nested more than 1000 levels"},
	{"long chain of operators", "x = 1" + strings.Repeat("+y", 100000), "nested more than 1000 levels"},
	{"long chain of concatenations", `x = ""` + strings.Repeat("..y", 50000), "at most 200 operands"},
	{"many constants", constants(10000), "more than 4000 different"},
	{"constants below the limit", constants(3900) + strings.Repeat("y=1 ", 20000) + "error('x')", "x"},
	{"long script", strings.Repeat(" ", 300000), "but can have at most"},
	{"chain of __index", `local t = {} for i = 1, 1e5 do t = setmetatable({}, {__index = t}) end while true do local _ = t.x end`, "too many recursions"},
	{"__index that adds keys", `local t = setmetatable({}, {__index = function(t, k) rawset(t, k, k) return k end}) local i = 0 while true do i = i + 1 local _ = t["k" .. i] end`, "too much memory"},
	{"__newindex of itself", `local t = setmetatable({}, {}) getmetatable(t).__newindex = t t.x = 1`, "too many recursions"},
	{"__newindex without end", `local t = setmetatable({}, {__newindex = function(t, k, v) t[k] = v end}) t.x = 1`, "stack overflow"},
	{"__call without end", `local t = setmetatable({}, {}) getmetatable(t).__call = function(self) return self() end t()`, "stack overflow"},
	{"__call in a circle", `local t = {} setmetatable(t, {__call = t}) t()`, "attempt to call a non-function"},
	{"__concat without end", `local m = {} m.__concat = function(a, b) return a .. b end local _ = setmetatable({}, m) .. "x"`, "stack overflow"},
	{"__concat of doubled length", `local s = "x" local m = {} m.__concat = function() s = s .. s return setmetatable({}, m) end local t = setmetatable({}, m) while true do t = t .. "x" end`, "a string can have at most"},
	{"__eq without end", `local m = {} m.__eq = function(a, b) return a == b end local _ = setmetatable({}, m) == setmetatable({}, m)`, "stack overflow"},
	{"__lt without end", `local m = {} m.__lt = function(a, b) while true do end end local _ = setmetatable({}, m) < setmetatable({}, m)`, tooLong},
	{"__le without end", `local m = {} m.__lt = function(a, b) return b < a end local _ = setmetatable({}, m) <= setmetatable({}, m)`, "stack overflow"},
	{"__add without end", `local m = {} m.__add = function(a, b) return a + b end local _ = setmetatable({}, m) + 1`, "stack overflow"},
	{"__unm without end", `local m = {} m.__unm = function(a) return -a end local _ = -setmetatable({}, m)`, "stack overflow"},
	{"__len without end", `local m = {} m.__len = function(a) while true do end end local _ = #setmetatable({}, m)`, tooLong},
	{"metatables without end", `while true do local t = {} setmetatable(t, t) t.__index = t end`, tooLong},
	{"metatables that are kept", `local t = {} while true do t = setmetatable({}, {__index = t}) end`, "too much memory"},
	{"metatable of globals", `setmetatable(_G, {__index = function(_, k) return _G[k] end}) println(x)`, "stack overflow"},
	{"sort that compares without end", `table.sort({1, 2, 3}, function() while true do end end)`, tooLong},
	{"sort in a sort", `local function compare() table.sort({1, 2, 3}, compare) return true end compare()`, "stack overflow"},
	{"sort of tables without order", `table.sort({{}, {}})`, "attempt to compare"},
	{"sort of large lists", `local t = {} for i = 1, 1e6 do t[i] = -i end while true do table.sort(t) end`, tooLong},
	{"sort with random results", `local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t, function() return math.random(2) == 1 end) end`, tooLong},
	{"string.format with __tostring without end", `local t = {} setmetatable(t, {__tostring = function() return ("%s"):format(t) end}) println(("%s"):format(t))`, "stack overflow"},
	{"__tostring in output", `println(setmetatable({}, {__tostring = function() while true do end end}))`, tooLong},
	{"__tostring of long strings", `local s = ("x"):rep(8e6) local t = setmetatable({}, {__tostring = function() return s end}) println(t, t, t, t)`, "too much output"},
	{"unpack of many arguments", `local t = {} for i = 1, 8000 do t[i] = i end local function f(...) return select("#", ...) end while true do f(unpack(t)) end`, tooLong},
	{"select with a huge negative index", `select(-4611686018427387905, 1, 2)`, "bad argument"},
	{"select without end", `local t = {} for i = 1, 8000 do t[i] = i end local function f(...) for i = 1, 1e9 do select(-1, ...) end end f(unpack(t))`, tooLong},
	{"pairs with additions", `local t = {a = 1} for k in pairs(t) do t[k .. "x"] = 1 end error("end")`, "the "},
	{"pairs with additions of numbers", `local t = {1} for k in pairs(t) do t[k + 1] = 1 end`, "is too large"},
	{"pairs with deletions", `while true do local t = {} for i = 1, 1000 do t["k" .. i] = i end for k in pairs(t) do t[k] = nil end end`, tooLong},
	{"next after a deleted key", `local t = {} for i = 1, 2e5 do t["k" .. i] = i end while true do for k in pairs(t) do t[k] = nil t[k] = 1 end end`, tooMuch},
	{"next with an unknown key", `while true do pcall(next, {}, "x") end`, tooLong},
	{"next with long keys", `local s = ("x"):rep(8e6) local t = {} while true do t[s] = 1 next(t) end`, tooLong},
	{"keys that are long strings", `local t = {} for i = 1, 1e9 do t[("x"):rep(1e6) .. i] = true end`, "too much memory"},
	{"table.concat without end", `local t = {} for i = 1, 1e6 do t[i] = "x" end while true do table.concat(t) end`, tooLong},
	{"table.concat of kept strings", `local t, kept = {}, {} for i = 1, 1e6 do t[i] = "xxx" end while true do kept[#kept + 1] = table.concat(t) end`, "too much memory"},
	{"table.insert in front", `local t = {} for i = 1, 1e9 do table.insert(t, 1, i) end`, tooMuch},
	{"table.remove from the front", `local t = {} for i = 1, 1e6 do t[i] = i end while true do table.remove(t, 1) t[#t + 1] = 1 end`, tooLong},
	{"table.maxn without end", `local t = {} for i = 1, 1e6 do t["k" .. i % 1000] = i end while true do table.maxn(t) end`, tooLong},
	{"length of lists", `local t = {} for i = 1, 1e6 do t[i] = i end while true do local _ = #t end`, tooLong},
	{"string.rep of an empty string", `while true do (""):rep(1e9) end`, tooLong},
	{"string.rep of infinite size", `("x"):rep(1/0)`, "a string can have at most"},
	{"string.rep in a pcall", `while true do pcall(string.rep, "x", 1e10) end`, tooLong},
	{"string.rep of large strings", `while true do ("x"):rep(8e6) end`, tooLong},
	{"string.reverse", `local s = ("x"):rep(8e6) while true do s:reverse() end`, tooLong},
	{"string.lower", `local s = ("X"):rep(8e6) while true do s:lower() end`, tooLong},
	{"string.char", `local t = {} for i = 1, 8000 do t[i] = 65 end local kept = {} while true do kept[#kept + 1] = string.char(unpack(t)) end`, "too much memory"},
	{"string.format with a width", `string.format("%99s%099d", "x", 1) string.format("%.99f", 1e308) string.format("%1000s", "x")`, "invalid option"},
	{"string.format with many widths", `local f = ("%99d"):rep(1e5) local t = {} for i = 1, 8000 do t[i] = i end f:format(unpack(t))`, "number expected"},
	{"string.format without end", `while true do ("%99.99f"):format(1e308) end`, tooLong},
	{"gsub with an empty pattern", `local s = ("x"):rep(8e6) s:gsub("", ("y"):rep(1e6))`, "a string can have at most"},
	{"gsub of each character", `local s = ("x"):rep(8e6) while true do s:gsub(".", "y") end`, tooMuch},
	{"gsub with a table", `local s = ("x"):rep(1e6) local t = setmetatable({}, {__index = function() return ("y"):rep(1e6) end}) s:gsub(".", t)`, "a string can have at most"},
	{"gsub in a gsub", `local function f() return (("x"):rep(1000):gsub("x", f)) end f()`, "stack overflow"},
	{"gmatch of empty matches", `for _ in ("x"):rep(8e6):gmatch("") do end while true do end`, tooLong},
	{"frontier pattern", `while true do pcall(string.find, ("a "):rep(1e6), ("%f[%a]%a-"):rep(10) .. "$b") end`, tooLong},
	{"plain search", `local s = ("a"):rep(8e6) local x = ("a"):rep(4e6) .. "b" while true do s:find(x, 1, true) end`, tooLong},
	{"nested pcall around a timeout", `local function f(n) if n == 0 then while true do end end pcall(f, n - 1) pcall(f, n - 1) end f(100)`, tooLong},
	{"error objects in a pcall", `local t = setmetatable({}, {__tostring = function() while true do end end}) while true do pcall(error, t) end`, tooLong},
	{"error objects that grow", `local e = {} while true do local _, x = pcall(error, {e}) e = x end`, tooMuch},
	{"error messages that grow", `local e = "x" while true do local _, x = pcall(error, e .. e) e = x end`, "a string can have at most"},
	{"xpcall with a failing handler", `while true do xpcall(error, error) end`, tooLong},
	{"assert with long messages", `while true do pcall(assert, false, ("x"):rep(8e6)) end`, tooLong},
	{"output of many arguments", `local t = {} local s = ("x"):rep(1e5) for i = 1, 8000 do t[i] = s end println(unpack(t))`, "too much output"},
	{"numeric loop without end", `for i = 1, 1/0 do end`, tooLong},
	{"numeric loop without step", `for i = 1, 2, 0 do end while true do end`, tooLong},
	{"closures in loops", `local t = {} for i = 1, 1e9 do t[i % 1e6] = function() return i end end`, "too much memory"},
	{"many upvalues", `local function f(n, ...) local a, b, c = ... local g = function() return a, b, c end return f(n + 1, g, g, g) end f(1)`, "stack overflow"},
	{"math.random without end", `while true do math.random(1, 2^31) end`, tooLong},
	{"semver of long strings", `semver.parse(("1."):rep(4e6))`, "invalid version"},
	{"semver of long constraints", `while true do pcall(semver.matches, (">1 || "):rep(1000) .. ">1", "1.2.3") end`, tooLong},
	{"semver of a long constraint", `semver.matches((">1,"):rep(2e6), "1.2.3")`, "invalid constraint"},
	{"JSON with many keys", `local t = {} for i = 1, 60000 do t[i] = '"' .. i .. '":{}' end local s = "{" .. table.concat(t, ",") .. "}" local kept = {} while true do kept[#kept + 1] = json.decode(s) end`, "too much memory"},
	{"JSON with a huge number", `json.decode(("9"):rep(1e6))`, "invalid JSON"},
	{"JSON with many numbers", `local s = "[" .. ("1e308,"):rep(170000) .. "1]" while true do json.decode(s) end`, tooLong},
	{"YAML with long strings", `yaml.decode("a: |\n" .. ("  x\n"):rep(250000)) while true do yaml.decode("'" .. ("''"):rep(500000) .. "'") end`, tooLong},
	{"YAML with many anchors", `local t = {} for i = 1, 60000 do t[i] = "- &a" .. i .. " x" end while true do yaml.decode(table.concat(t, "\n")) end`, tooMuch},
	{"YAML with merged maps", `local s = "a: &a {x: 1}\nb:\n" for i = 1, 1e4 do s = s .. "- {<<: *a}\n" end while true do yaml.decode(s) end`, tooMuch},
	{"YAML with complex keys", `while true do pcall(yaml.decode, ("? "):rep(5e5)) end`, tooLong},
	{"result of doubled size", `local t = {} for i = 1, 60 do t = {t, t} end return t`, "the value is too large"},
	{"result that is a circle", `local t = {} t.t = t return t`, "nested more than 100 levels"},
	{"result that is deep", `local t = {} for i = 1, 1e5 do t = {t} end return t`, "nested more than 100 levels"},
	{"result with the same map", `local s = {} for i = 1, 1000 do s["k" .. i] = i end local t = {} for i = 1, 1e5 do t[i] = s end return t`, "the value is too large"},
	{"results without end", `local s = {} for i = 1, 1000 do s["k" .. i] = i end local t = {} for i = 1, 1e3 do t[i] = s end local r = {} for i = 1, 8000 do r[i] = t end return unpack(r)`, "the value is too large"},
	{"result with functions", `local t = {} for i = 1, 2e5 do t[i] = function() end end return t`, "the value is too large"},
	{value + "list of doubled size", `local t = {} for i = 1, 60 do t = {t, t} end list[1].x = t`, "the value is too large"},
	{value + "list that is a circle", `list[1].x = list`, "nested more than 100 levels"},
	{value + "list in a map in itself", `list[2] = list[1] list[1].x = list[1] list[1].y = list[1]`, "nested more than 100 levels"},
	{value + "list with the same map", `local s = {} for i = 1, 1000 do s["k" .. i] = i end for i = 1, 1e5 do list[i] = s end`, "the value is too large"},
	{value + "list that is deep", `local t = {} for i = 1, 1e5 do t = {t} end list[1] = t`, "nested more than 100 levels"},
	{value + "list with functions", `local t = {} for i = 1, 1e6 do t[i] = list end list[1] = t`, "the value is too large"},
	{"deep functions", strings.Repeat("function f() ", 15000) + strings.Repeat("end ", 15000), "nested more than 1000 levels"},
	{"deep calls", "x = " + strings.Repeat("f(", 80000) + strings.Repeat(")", 80000), "nested more than 1000 levels"},
	{"closed parentheses", "x = " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000) + " error('x')", "attack.lua:1: x"},
	{"long chain of indexes", "x = a" + strings.Repeat(".b", 100000), "nested more than 1000 levels"},
	{"long chain of unary operators", "x = " + strings.Repeat("not ", 60000) + "1", "nested more than 1000 levels"},
	{"long chain of elseif", "if x then " + strings.Repeat("elseif x then ", 18000) + "end", "nested more than 1000 levels"},
	{"many local variables", strings.Repeat("local x ", 30000), "local variables"},
	{"many names of a local statement", "local x" + strings.Repeat(",x", 100000), "local variables"},
	{"many parameters", "function f(x" + strings.Repeat(",x", 100000) + ") end", "register overflow"},
	{"many arguments", "f(1" + strings.Repeat(",1", 100000) + ")", "register overflow"},
	{"many assigned variables", "x" + strings.Repeat(",x", 60000) + " = " + "1" + strings.Repeat(",1", 60000), "register overflow"},
	{"many results", "return 1" + strings.Repeat(",1", 100000), "register overflow"},
	{"large constructor of a list", "x = {" + strings.Repeat("1,", 120000) + "} error('x')", "x"},
	{"large constructor of tables", "x = {" + strings.Repeat("{},", 85000) + "} error('x')", "x"},
	{"many labels", labels(10000) + "error('x')", "attack.lua:1: x"},
	{"many functions", strings.Repeat("f=function()end ", 16000) + "error('x')", "more than 2000 functions"},
	{"long string literal", "x = '" + strings.Repeat("x", 5<<20) + "'", "but can have at most"},
	{"long number", "x = " + strings.Repeat("9", 200000) + " error('x')", "x"},
	{"long name", strings.Repeat("x", 200000) + " = 1 error('x')", "x"},
	{"long comment", "--[[" + strings.Repeat("x", 200000), "invalid multiline comment"},
	{"long brackets", "x = [" + strings.Repeat("=", 100000) + "[ x", "unterminated multiline string"},
	{"text that is not UTF-8", "x = '\xff\xfe' \xff\xfe = 1", "Invalid token"},
	{"NUL bytes", "x = 1 \x00\x00 y = 2", "Invalid token"},
	{"bytecode", "\x1bLua\x51\x00\x01\x04\x08\x04\x08\x00", "Invalid token"},
	{again + "memory of earlier calls", `keep = keep or {} for i = 1, 200000 do keep[#keep + 1] = {i} end`, "too much memory"},
	{again + "code of earlier calls", `keep = keep or {} keep[#keep + 1] = function() ` + strings.Repeat("f=function()end ", 1999) + " end", "too much memory"},
	{again + "strings of earlier calls", `keep = keep or {} for i = 1, 30 do keep[#keep + 1] = ("x"):rep(1e6) .. i end`, "too much memory"},
}

// again is the beginning of the names of attacks whose script is run until it fails.
const again = "again: "

// unnamed is printed before an error that does not name the file of the script.
const unnamed = "this error does not name the file: "

// value is the beginning of the names of attacks that change a list of the caller, which then reads
// it.
const value = "value: "

// labels returns a script with n labels, and a jump to each.
func labels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goto a%d ::a%d:: ", i, i)
	}
	return b.String()
}

// constants returns a script with n different strings.
func constants(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x='%d' ", i)
	}
	return b.String()
}

const (
	// attackVariable names the attack that a child process runs.
	attackVariable = "ORDERED_HELM_TEST_ATTACK"
	// maxAttackTime and maxAttackMemory are the bounds of section 7 of the contract.
	maxAttackTime   = 10 * time.Second
	maxAttackMemory = 256 << 20
)

// TestMain runs an attack instead of the tests in child processes.
func TestMain(m *testing.M) {
	name := os.Getenv(attackVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	before := peakMemory()
	var script string
	options := luasandbox.Options{Owner: "attack"}
	for _, attack := range attacks {
		if attack.name == name {
			script = attack.script
			if attack.want == tooLong || attack.want == tooMuch {
				options.Limits.Time = time.Second / 2
			}
		}
	}
	start := time.Now()
	state := luasandbox.New(options)
	defer state.Close()
	var err error
	for calls := 0; calls == 0 || calls < 100 && err == nil && strings.HasPrefix(name, again); calls++ {
		if strings.HasPrefix(name, value) {
			err = readChangedList(state, script)
		} else {
			err = state.Load(context.Background(), "attack.lua", script)
		}
	}
	fmt.Printf("%d %d\n", time.Since(start).Milliseconds(), peakMemory()-before)
	if err != nil {
		if problem := (*luasandbox.Error)(nil); !strings.HasPrefix(name, value) && (!errors.As(err, &problem) || problem.File != "attack.lua") {
			fmt.Print(unnamed)
		}
		fmt.Println(err)
	}
}

// readChangedList reads a list back that a script has changed.
func readChangedList(state *luasandbox.State, script string) error {
	ctx := context.Background()
	var handler *luasandbox.Function
	functions := map[string]luasandbox.GoFunction{"handle": func(_ context.Context, arguments []any) ([]any, error) {
		handler = arguments[0].(*luasandbox.Function)
		return nil, nil
	}}
	if err := state.Register("go", functions); err != nil {
		return err
	}
	if err := state.Load(ctx, "attack.lua", "go.handle(function(list) "+script+" end)"); err != nil {
		return err
	}
	list, err := state.NewValue([]any{map[string]any{"kind": "Secret"}, map[string]any{}})
	if err != nil {
		return err
	}
	if _, err := state.Call(ctx, handler, list); err != nil {
		return err
	}
	if _, _, err := list.Go(ctx); err == nil {
		return errors.New("the value was read")
	}
	_, err = list.Elements(ctx)
	return err
}

// peakMemory returns the peak of the resident memory of the process in bytes.
func peakMemory() int {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = status.Close() }()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kib, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return kib << 10
		}
	}
	return 0
}

// TestAttacks runs each attack in a child process, whose peak memory it measures. The limits of
// time are the contract of the sandbox, so that this is the only test that checks a duration.
func TestAttacks(t *testing.T) {
	program := os.Args[0]
	if raceEnabled {
		// The race detector multiplies the time and memory that scripts need.
		program = filepath.Join(t.TempDir(), "attacks.test")
		build := exec.CommandContext(t.Context(), "go", "test", "-c", "-race=false", "-trimpath", "-buildvcs=false", "-o", program, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*maxAttackTime)
			defer cancel()
			child := exec.CommandContext(ctx, program)
			child.Env = append(os.Environ(), attackVariable+"="+attack.name)
			output, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("the process failed: %v\n%.2000s", err, output)
			}
			measured, message, _ := strings.Cut(string(output), "\n")
			var milliseconds, memory int
			if _, err := fmt.Sscan(measured, &milliseconds, &memory); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			t.Logf("%d ms, %d MiB, %.300s", milliseconds, memory>>20, message)
			// On a busy machine, the limit of time can come before that of memory.
			isLimited := attack.want == "too much memory" && strings.Contains(message, tooLong)
			if strings.Contains(message, unnamed) || !strings.Contains(message, attack.want) && !isLimited {
				t.Errorf("got %.1000s", message)
			}
			if duration := time.Duration(milliseconds) * time.Millisecond; duration > maxAttackTime {
				t.Errorf("the script ran for %s", duration)
			}
			if memory > maxAttackMemory {
				t.Errorf("the script needed %d MiB", memory>>20)
			}
		})
	}
}
