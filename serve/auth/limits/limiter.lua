-- Counts one call of a key if every window has room. Decides and counts in one step of the server.
--
-- KEYS[1]  list of the admitted calls' instants in microseconds, newest first
-- KEYS[2]  hash: `last` = newest admission, `ahead` = how far the key's own time runs ahead of the server's clock,
--          and one field per calendar month (yyyymm) = its calls
-- ARGV[1]  integers separated by spaces: cost (1 charges, 0 only reads), then limit (-1: none) and length in
--          microseconds of each rolling window from the shortest to the longest, and finally the month's limit
-- returns  integers separated by spaces: the window that refuses longest (0-based; -1: admitted), microseconds
--          until it has room, calls in each window, microseconds until each window's count first falls
-- One text each way, because a client spends longer on a dozen small values than the server on the script.
local calls, months, arguments = KEYS[1], KEYS[2], {}
for number in string.gmatch(ARGV[1], '%S+') do arguments[#arguments + 1] = tonumber(number) end
local cost = arguments[1]
local windows = (#arguments - 2) / 2
local month_limit = arguments[#arguments]

local clock = redis.call('TIME')
local wall = clock[1] * 1000000 + clock[2]

-- Year, month and the month's end from the count of days (Howard Hinnant, "chrono-compatible low-level
-- date algorithms": civil_from_days and days_from_civil, for days after 1970).
local function days_before(year, month)
  if month <= 2 then year = year - 1 end
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local shifted = (month + 9) % 12
  local of_year = math.floor((153 * shifted + 2) / 5)
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end
local days = math.floor(wall / 86400000000) + 719468
local era = math.floor(days / 146097)
local of_era = days - era * 146097
local years = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524)
  - math.floor(of_era / 146096)) / 365)
local of_year = of_era - (365 * years + math.floor(years / 4) - math.floor(years / 100))
local shifted = math.floor((5 * of_year + 2) / 153)
local month = shifted < 10 and shifted + 3 or shifted - 9
local year = years + era * 400 + (month <= 2 and 1 or 0)
local next_year, next_month = year, month + 1
if next_month > 12 then next_year, next_month = year + 1, 1 end
local month_end = days_before(next_year, next_month) * 86400000000
local month_name = string.format('%04d%02d', year, month)

-- The server only has a clock that can be set. The key's own time follows it but never falls behind an admission: a
-- small step back is waited out; after a large one no time counts as passed, and the key's time goes on from its last
-- admission.
local stored = redis.call('HMGET', months, 'last', 'ahead', month_name)
local last, ahead, in_month = tonumber(stored[1] or 0), tonumber(stored[2] or 0), tonumber(stored[3] or 0)
local seen = wall + ahead                                    -- waiting times are measured from this
local now = math.max(seen, last)
if now - seen > 1000000 then
  redis.call('HSET', months, 'ahead', string.format('%.0f', last - wall))
  seen = now
end

local length = redis.call('LLEN', calls)
local oldest = length > 0 and tonumber(redis.call('LINDEX', calls, -1))
local function instant_of(index)                          -- 0 is the newest
  if index == length - 1 then return oldest end
  return tonumber(redis.call('LINDEX', calls, index))
end
-- Number of calls newer than an instant, at least `low`: searched in steps that double, then by bisection, as a
-- window holds few of the calls or, most often the longest, all of them.
local function newer_than(cut, low)
  if length == 0 or oldest > cut then return length end
  local step, high = 1, length - 1
  while low + step - 1 < high and instant_of(low + step - 1) > cut do
    low, step = low + step, step * 2
  end
  high = math.min(high, low + step - 1)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if instant_of(middle) > cut then low = middle + 1 else high = middle end
  end
  return low
end

local refused, retry, used, reset, longest, inside = -1, 0, {}, {}, 0, 0
local function refuse(window, wait)
  if wait > retry then refused, retry = window, wait end
end
for i = 1, windows do
  local limit, span = arguments[2 * i], arguments[2 * i + 1]
  if span > longest then longest = span end
  inside = newer_than(now - span, inside)
  if cost > 0 and limit >= 0 and inside >= limit then refuse(i - 1, instant_of(limit - 1) + span - seen) end
  used[i] = inside
  reset[i] = inside > 0 and instant_of(inside - 1) + span - seen or 0
end
used[windows + 1] = in_month
reset[windows + 1] = month_end - wall
if cost > 0 and month_limit >= 0 and in_month >= month_limit then refuse(windows, month_end - wall) end

if cost > 0 and refused < 0 then
  local instant = string.format('%.0f', now)
  redis.call('HSET', months, 'last', instant, month_name, in_month + 1)
  if in_month == 0 then                                     -- months of a year ago are no longer needed
    for _, name in ipairs(redis.call('HKEYS', months)) do
      if (tonumber(name) or year * 100 + month) < (year - 1) * 100 + month then redis.call('HDEL', months, name) end
    end
    local needed = math.ceil((month_end - wall) / 1000) + 32 * 86400000
    if redis.call('PTTL', months) < needed then redis.call('PEXPIRE', months, string.format('%.0f', needed)) end
  end
  redis.call('LPUSH', calls, instant)
  if inside < length then redis.call('LTRIM', calls, 0, inside) end  -- calls that left the longest window
  -- Longer than calls count, so that a clock that is briefly a day ahead does not remove them.
  redis.call('PEXPIRE', calls, string.format('%.0f', math.ceil(longest / 1000) * 3))
  for i = 1, windows + 1 do used[i] = used[i] + 1 end
  for i = 1, windows do
    if reset[i] == 0 then reset[i] = now + arguments[2 * i + 1] - seen end
  end
end

local answer = {refused, retry}
for i = 1, windows + 1 do answer[#answer + 1] = used[i] end
for i = 1, windows + 1 do answer[#answer + 1] = reset[i] end
for i = 1, #answer do answer[i] = string.format('%.0f', answer[i]) end
return table.concat(answer, ' ')
