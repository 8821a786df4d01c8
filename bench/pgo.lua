-- SPDX-License-Identifier: BSD-3-Clause
-- A load for bench/pgo.sh: trees, strings, tables, closures, floating point.
for _ = 1, 8 do
local function tree(depth)
	if depth == 0 then return {} end
	return { tree(depth - 1), tree(depth - 1) }
end
local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end
local sum = 0
for _ = 1, 12 do sum = sum + count(tree(14)) end

local words = {}
for i = 1, 120000 do
	local w = string.format("w%d", i * 7919 % 5003)
	words[w] = (words[w] or 0) + #w
end
local keys = {}
for k in pairs(words) do keys[#keys + 1] = k end
table.sort(keys, function(a, b) return words[a] == words[b] and a < b or words[a] > words[b] end)
local text = table.concat(keys, " ")
for w in text:gmatch("%a%d+") do sum = sum + #w end
sum = sum + select(2, text:gsub("7", "seven"))

local n = 160
local a, b = {}, {}
for i = 1, n do
	a[i], b[i] = {}, {}
	for j = 1, n do a[i][j], b[i][j] = i / j, j - i end
end
for i = 1, n do
	for j = 1, n do
		local s = 0.0
		for k = 1, n do s = s + a[i][k] * b[k][j] end
		sum = sum + s
	end
end
local account = setmetatable({ total = 0 }, { __index = { add = function(self, v) self.total = self.total + v end } })
for i = 1, 3000000 do account:add(i % 3) end
print(sum, account.total)
end
