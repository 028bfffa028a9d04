-- Counts one call of a key if every window has room. Decides and counts in one step of the server.
--
-- KEYS[1]  list of the admitted calls' instants in microseconds, newest first
-- KEYS[2]  hash: `last` = newest admission, and one field per calendar month (yyyymm) = its calls
-- ARGV[1] whole numbers with blanks: cost (1 charges, 0 asks), then limit and length in microseconds of each
--          rolling window from the shortest to the longest, and last the month's limit (-1: none)
-- returns  whole numbers with blanks: the first window without room (0-based; -1: admitted), microseconds
--          until all have room, calls in each window, microseconds until each window's count first falls
-- One text each way, because a client spends longer on a dozen small values than the server on all of this.
local calls, months, asked = KEYS[1], KEYS[2], {}
for number in string.gmatch(ARGV[1], '%S+') do asked[#asked + 1] = tonumber(number) end
local cost = asked[1]
local windows = (#asked - 2) / 2
local month_limit = asked[#asked]

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local kept = {}
local flat = redis.call('HGETALL', months)
for i = 1, #flat, 2 do kept[flat[i]] = tonumber(flat[i + 1]) end
if kept.last and kept.last > now then now = kept.last end -- the server's clock was set back

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
local days = math.floor(now / 86400000000) + 719468
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

local length = redis.call('LLEN', calls)
local oldest = length > 0 and tonumber(redis.call('LINDEX', calls, -1))
local function instant_of(index)                          -- 0 is the newest
  if index == length - 1 then return oldest end
  return tonumber(redis.call('LINDEX', calls, index))
end
-- How many calls are newer than an instant, when `low` of them are known to be: by steps that double, then
-- by halving, as a window holds few of the calls or, most often the longest, all of them.
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
  if refused < 0 then refused = window end
  if wait > retry then retry = wait end
end
for i = 1, windows do
  local limit, span = asked[2 * i], asked[2 * i + 1]
  if span > longest then longest = span end
  inside = newer_than(now - span, inside)
  if cost > 0 and inside >= limit then refuse(i - 1, instant_of(limit - 1) + span - now) end
  used[i] = inside
  reset[i] = inside > 0 and instant_of(inside - 1) + span - now or 0
end
local in_month = kept[month_name] or 0
used[windows + 1] = in_month
reset[windows + 1] = month_end - now
if cost > 0 and month_limit >= 0 and in_month >= month_limit then refuse(windows, month_end - now) end

if cost > 0 and refused < 0 then
  local instant = string.format('%.0f', now)
  if in_month == 0 then redis.call('DEL', months) end      -- earlier months are of no more use
  redis.call('HSET', months, 'last', instant, month_name, in_month + 1)
  if in_month == 0 then redis.call('PEXPIREAT', months, string.format('%.0f', month_end / 1000 + 86400000)) end
  redis.call('LPUSH', calls, instant)
  if inside < length then redis.call('LTRIM', calls, 0, inside) end  -- what left the longest window
  redis.call('PEXPIRE', calls, string.format('%.0f', math.ceil(longest / 1000)))
  for i = 1, windows + 1 do used[i] = used[i] + 1 end
  for i = 1, windows do
    if reset[i] == 0 then reset[i] = asked[2 * i + 1] end
  end
end

local answer = {refused, retry}
for i = 1, windows + 1 do answer[#answer + 1] = used[i] end
for i = 1, windows + 1 do answer[#answer + 1] = reset[i] end
for i = 1, #answer do answer[i] = string.format('%.0f', answer[i]) end
return table.concat(answer, ' ')
