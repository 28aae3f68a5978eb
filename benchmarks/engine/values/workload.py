"""The packet that functions are measured on, all of whose values are distinct, and the calls: in cqc's words, in DuckDB's and in Polars'.

A call without a peer has '' for both: no package has a function of that meaning over whole columns, and its cost is listed alone.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 10_000
DECLARED = (
    "ts BIGINT, n BIGINT, k BIGINT, x DOUBLE, p DOUBLE, t STRING, u STRING, url STRING, js STRING, b64 STRING, hx STRING, ip STRING, num STRING, "
    "w TIMESTAMP, w2 TIMESTAMP, dt DATE, dts STRING, a ARRAY<STRING>, an ARRAY<BIGINT>, m MAP<STRING, BIGINT>, d DECIMAL(18, 4)"
)


def packet(seed: int = 1) -> pa.Table:
    """10,000 rows; `k` is a small positive number, `p` lies between 0 and 1."""
    random = np.random.default_rng(seed)
    n = random.permutation(np.arange(ROWS) * 7919 + 11).astype(np.int64)
    texts = [f"User {i * 31} of Room-{i:x}, École" for i in n.tolist()]
    urls = [f"https://host{i}.example.com/path/{i}?q={i}&x=1" for i in n.tolist()]
    micros = n * 1_000_003 + 1_600_000_000_000_000
    days = (n % 30_011 + 3).astype(np.int32)
    arrays = [[f"-a{i}", f"--flag={i}", "x"] for i in n.tolist()]
    return pa.table(
        {
            "ts": pa.array(np.arange(ROWS)),
            "n": pa.array(n - 30_000_000),
            "k": pa.array(n % 13 + 1),
            "x": pa.array((n - 30_000_000) / 977.0),
            "p": pa.array((n + 1) / 1e8),
            "t": pa.array(texts),
            "u": pa.array([text[::-1] for text in texts]),
            "url": pa.array(urls),
            "js": pa.array([f'{{"a": {{"b": [{i}, 2]}}, "c": "v{i}"}}' for i in n.tolist()]),
            "b64": pa.array([base64.b64encode(text.encode()).decode() for text in texts]),
            "hx": pa.array([text.encode().hex() for text in texts]),
            "ip": pa.array(
                [f"{i % 223 + 1}.{i // 223 % 256}.{i // 57088 % 256}.{i % 251}" for i in n.tolist()]
            ),
            "num": pa.array([str(i / 100) for i in n.tolist()]),
            "w": pa.array(micros, pa.timestamp("us", tz="UTC")),
            "w2": pa.array(micros[::-1].copy(), pa.timestamp("us", tz="UTC")),
            "dt": pa.array(days, pa.int32()).cast(pa.date32()),
            "dts": pa.array(
                [
                    f"{2000 + i % 40}-{i % 12 + 1:02d}-{i % 28 + 1:02d} {i % 24:02d}:{i // 7 % 60:02d}:{i // 421 % 60:02d}"
                    for i in n.tolist()
                ]
            ),
            "a": pa.array(arrays),
            "an": pa.array([[i, i + 1, 3] for i in n.tolist()]),
            "m": pa.array(
                [[("a", i), ("b", 2)] for i in n.tolist()], pa.map_(pa.string(), pa.int64())
            ),
            "d": pa.array(n - 30_000_000)
            .cast(pa.decimal128(19, 0))
            .cast(pa.decimal128(18, 4), safe=False),
        }
    )


class Case(NamedTuple):
    """A call in cqc's words, and what means the same (or costs as much) in those of its peers; '' where one has no such thing."""

    name: str
    call: str
    duckdb: str
    polars: str


def cases() -> Iterator[Case]:
    """All functions of the language, by family."""
    for line in _CASES.strip().splitlines():
        name, call, duckdb, polars = (part.strip() for part in line.split("#"))
        yield Case(name, call or name, duckdb, polars)


_CASES = """
concat # concat(t, '-', u) # t || '-' || u # pl.concat_str("t", pl.lit("-"), "u")
concat_ws # concat_ws('-', t, u) # concat_ws('-', t, u) # pl.concat_str("t", "u", separator="-")
substring # substring(t, 3, 8) # substring(t, 3, 8) # pl.col("t").str.slice(2, 8)
left # left(t, 5) # left(t, 5) # pl.col("t").str.head(5)
right # right(t, 5) # right(t, 5) # pl.col("t").str.tail(5)
length # length(t) # length(t) # pl.col("t").str.len_chars()
lower # lower(t) # lower(t) # pl.col("t").str.to_lowercase()
upper # upper(t) # upper(t) # pl.col("t").str.to_uppercase()
trim # trim(t) # trim(t, ' ') # pl.col("t").str.strip_chars(" ")
ltrim # ltrim(t) # ltrim(t, ' ') # pl.col("t").str.strip_chars_start(" ")
rtrim # rtrim(t) # rtrim(t, ' ') # pl.col("t").str.strip_chars_end(" ")
lpad # lpad(t, 40, '*') # lpad(t, 40, '*') # pl.col("t").str.pad_start(40, "*")
rpad # rpad(t, 40, '*') # rpad(t, 40, '*') # pl.col("t").str.pad_end(40, "*")
replace # replace(t, 'Room', 'R') # replace(t, 'Room', 'R') # pl.col("t").str.replace_all("Room", "R", literal=True)
translate # translate(t, 'abc', 'xyz') # translate(t, 'abc', 'xyz') #
reverse # reverse(t) # reverse(t) # pl.col("t").str.reverse()
repeat # repeat(t, 3) # repeat(t, 3) #
initcap # initcap(t) # # pl.col("t").str.to_titlecase()
split # split(t, ' ') # string_split(t, ' ') # pl.col("t").str.split(" ")
split by pattern # split(t, '[ -]') # string_split_regex(t, '[ -]') #
split_part # split_part(t, ' ', 2) # split_part(t, ' ', 2) # pl.col("t").str.split(" ").list.get(1)
instr # instr(t, 'Room') # instr(t, 'Room') # pl.col("t").str.find("Room", literal=True)
locate # locate('Room', t) # instr(t, 'Room') # pl.col("t").str.find("Room", literal=True)
startswith # startswith(t, 'User 1') # starts_with(t, 'User 1') # pl.col("t").str.starts_with("User 1")
endswith # endswith(t, 'e') # ends_with(t, 'e') # pl.col("t").str.ends_with("e")
contains # contains(t, '99') # contains(t, '99') # pl.col("t").str.contains("99", literal=True)
regexp_like # regexp_like(t, '[0-9]+7 of') # regexp_matches(t, '[0-9]+7 of') # pl.col("t").str.contains("[0-9]+7 of")
regexp_extract # regexp_extract(t, 'Room-([0-9a-f]+)') # regexp_extract(t, 'Room-([0-9a-f]+)', 1) # pl.col("t").str.extract("Room-([0-9a-f]+)")
regexp_extract_all # regexp_extract_all(t, '([0-9]+)') # regexp_extract_all(t, '([0-9]+)', 1) # pl.col("t").str.extract_all("[0-9]+")
regexp_replace # regexp_replace(t, '[0-9]+', 'N') # regexp_replace(t, '[0-9]+', 'N', 'g') # pl.col("t").str.replace_all("[0-9]+", "N")
format_string # format_string('%s is %d', t, n) # printf('%s is %d', t, n) # pl.format("{} is {}", "t", "n")
levenshtein # levenshtein(t, u) # levenshtein(t, u) #
ascii # ascii(t) # ascii(t) #
chr # chr(k + 64) # chr(CAST(k + 64 AS INT)) #
base64 # base64(t) # base64(encode(t)) # pl.col("t").str.encode("base64")
unbase64 # unbase64(b64) # from_base64(b64) # pl.col("b64").str.decode("base64")
hex # hex(n) # to_hex(n) #
hex of text # hex(t) # hex(t) # pl.col("t").str.encode("hex")
unhex # unhex(hx) # unhex(hx) # pl.col("hx").str.decode("hex")
md5 # md5(t) # md5(t) #
sha1 # sha1(t) # sha1(t) #
sha2 # sha2(t, 256) # sha256(t) #
crc32 # crc32(t) # #
url_encode # url_encode(t) # url_encode(t) #
url_decode # url_decode(url) # url_decode(url) #
parse_url # parse_url(url, 'HOST') # #
abs # abs(n) # abs(n) # pl.col("n").abs()
round # round(x, 2) # round(x, 2) # pl.col("x").round(2)
bround # bround(x, 2) # round_even(x, 2) # pl.col("x").round(2, mode="half_to_even")
floor # floor(x) # CAST(floor(x) AS BIGINT) # pl.col("x").floor().cast(pl.Int64)
ceil # ceil(x) # CAST(ceil(x) AS BIGINT) # pl.col("x").ceil().cast(pl.Int64)
floor of DECIMAL # floor(d) # floor(d) #
sign # sign(x) # sign(x) # pl.col("x").sign()
sqrt # sqrt(p) # sqrt(p) # pl.col("p").sqrt()
cbrt # cbrt(x) # cbrt(x) # pl.col("x").cbrt()
exp # exp(p) # exp(p) # pl.col("p").exp()
ln # ln(p) # ln(p) # pl.col("p").log()
log10 # log10(p) # log10(p) # pl.col("p").log10()
log2 # log2(p) # log2(p) # pl.col("p").log(2)
pow # pow(p, 2.5) # pow(p, 2.5) # pl.col("p").pow(2.5)
mod # mod(n, 7) # n % 7 # pl.col("n") % 7
pmod # pmod(n, 7) # ((n % 7) + 7) % 7 # pl.col("n") % 7
div # div(n, 7) # n // 7 # pl.col("n") // 7
greatest # greatest(n, k) # greatest(n, k) # pl.max_horizontal("n", "k")
least # least(n, k) # least(n, k) # pl.min_horizontal("n", "k")
nanvl # nanvl(x, 0.0) # CASE WHEN isnan(x) THEN 0 ELSE x END # pl.col("x").fill_nan(0.0)
isnan # isnan(x) # isnan(x) # pl.col("x").is_nan()
width_bucket # width_bucket(p, 0, 1, 20) # #
conv # conv(n, 10, 16) # #
bin # bin(n) # to_binary(n) #
shiftleft # shiftleft(k, 3) # k << 3 #
shiftright # shiftright(k, 3) # k >> 3 #
n & 7 # n & 7 # n & 7 # pl.col("n") & 7
radians # radians(x) # radians(x) # pl.col("x").radians()
degrees # degrees(x) # degrees(x) # pl.col("x").degrees()
sin # sin(x) # sin(x) # pl.col("x").sin()
cos # cos(x) # cos(x) # pl.col("x").cos()
tan # tan(x) # tan(x) # pl.col("x").tan()
asin # asin(p) # asin(p) # pl.col("p").arcsin()
acos # acos(p) # acos(p) # pl.col("p").arccos()
atan # atan(x) # atan(x) # pl.col("x").arctan()
atan2 # atan2(x, p) # atan2(x, p) # pl.arctan2("x", "p")
date_trunc # date_trunc('HOUR', w) # date_trunc('hour', w) # pl.col("w").dt.truncate("1h")
date_trunc month # date_trunc('MONTH', w) # date_trunc('month', w) # pl.col("w").dt.truncate("1mo")
date_format # date_format(w, 'yyyy-MM-dd HH:mm') # strftime(w, '%Y-%m-%d %H:%M') # pl.col("w").dt.strftime("%Y-%m-%d %H:%M")
to_timestamp # to_timestamp(dts, 'yyyy-MM-dd HH:mm:ss') # strptime(dts, '%Y-%m-%d %H:%M:%S') # pl.col("dts").str.to_datetime("%Y-%m-%d %H:%M:%S")
to_date # to_date(dts, 'yyyy-MM-dd HH:mm:ss') # CAST(strptime(dts, '%Y-%m-%d %H:%M:%S') AS DATE) # pl.col("dts").str.to_date("%Y-%m-%d %H:%M:%S")
from_unixtime # from_unixtime(abs(n)) # strftime(to_timestamp(abs(n)), '%Y-%m-%d %H:%M:%S') # pl.from_epoch(pl.col("n").abs()).dt.strftime("%Y-%m-%d %H:%M:%S")
unix_timestamp # unix_timestamp(w) # CAST(epoch(w) AS BIGINT) # pl.col("w").dt.epoch("s")
unix_millis # unix_millis(w) # epoch_ms(w) # pl.col("w").dt.epoch("ms")
timestamp_seconds # timestamp_seconds(n) # to_timestamp(n) # pl.from_epoch("n")
year # year(w) # year(w) # pl.col("w").dt.year()
quarter # quarter(w) # quarter(w) # pl.col("w").dt.quarter()
month # month(w) # month(w) # pl.col("w").dt.month()
day # day(w) # day(w) # pl.col("w").dt.day()
dayofweek # dayofweek(w) # dayofweek(w) # pl.col("w").dt.weekday()
dayofyear # dayofyear(w) # dayofyear(w) # pl.col("w").dt.ordinal_day()
weekofyear # weekofyear(w) # weekofyear(w) # pl.col("w").dt.week()
hour # hour(w) # hour(w) # pl.col("w").dt.hour()
minute # minute(w) # minute(w) # pl.col("w").dt.minute()
second # second(w) # second(w) # pl.col("w").dt.second()
date_add # date_add(dt, k) # dt + CAST(k AS INT) # pl.col("dt") + pl.duration(days="k")
datediff # datediff(w, w2) # datediff('day', w2, w) # (pl.col("w").dt.date() - pl.col("w2").dt.date()).dt.total_days()
months_between # months_between(w, w2) # #
add_months # add_months(dt, 2) # dt + INTERVAL 2 MONTH # pl.col("dt").dt.offset_by("2mo")
last_day # last_day(dt) # last_day(dt) # pl.col("dt").dt.month_end()
next_day # next_day(dt, 'MO') # #
timestampadd # timestampadd(HOUR, k, w) # w + to_hours(CAST(k AS INT)) # pl.col("w") + pl.duration(hours="k")
timestampdiff # timestampdiff(HOUR, w, w2) # datesub('hour', w, w2) # (pl.col("w2") - pl.col("w")).dt.total_hours()
make_date # make_date(2000 + k, k % 12 + 1, k) # make_date(2000 + k, k % 12 + 1, k) # pl.date(2000 + pl.col("k"), pl.col("k") % 12 + 1, pl.col("k"))
from_utc_timestamp # from_utc_timestamp(w, 'Europe/Berlin') # w AT TIME ZONE 'Europe/Berlin' # pl.col("w").dt.convert_time_zone("Europe/Berlin").dt.replace_time_zone(None)
to_utc_timestamp # to_utc_timestamp(w, 'Europe/Berlin') # (w AT TIME ZONE 'UTC') AT TIME ZONE 'Europe/Berlin' # pl.col("w").dt.replace_time_zone(None).dt.replace_time_zone("Europe/Berlin", ambiguous="earliest", non_existent="null")
coalesce # coalesce(n, k) # coalesce(n, k) # pl.coalesce("n", "k")
nullif # nullif(k, 3) # nullif(k, 3) # pl.when(pl.col("k") == 3).then(None).otherwise("k")
if # if(n > 0, n, k) # CASE WHEN n > 0 THEN n ELSE k END # pl.when(pl.col("n") > 0).then("n").otherwise("k")
cast to DOUBLE # CAST(num AS DOUBLE) # CAST(num AS DOUBLE) # pl.col("num").cast(pl.Float64)
cast to STRING # CAST(n AS STRING) # CAST(n AS VARCHAR) # pl.col("n").cast(pl.String)
DOUBLE as STRING # CAST(x AS STRING) # CAST(x AS VARCHAR) # pl.col("x").cast(pl.String)
cast to TIMESTAMP # CAST(dts AS TIMESTAMP) # CAST(dts AS TIMESTAMP) # pl.col("dts").str.to_datetime("%Y-%m-%d %H:%M:%S")
TIMESTAMP as STRING # CAST(w AS STRING) # CAST(w AS VARCHAR) # pl.col("w").cast(pl.String)
DECIMAL sum # d + d # d + d # pl.col("d") + pl.col("d")
DECIMAL product # d * 3 # d * 3 #
get_json_object # get_json_object(js, '$.a.b[0]') # json_extract_string(js, '$.a.b[0]') # pl.col("js").str.json_path_match("$.a.b[0]")
from_json # from_json(js, 'c STRING') # from_json(js, '{"c": "VARCHAR"}') # pl.col("js").str.json_decode(pl.Struct({"c": pl.String}))
to_json # to_json(named_struct('n', n, 't', t)) # to_json({n: n, t: t}) # pl.struct("n", "t").struct.json_encode()
size # size(a) # len(a) # pl.col("a").list.len()
element_at # element_at(a, 2) # a[2] # pl.col("a").list.get(1)
array_contains # array_contains(a, 'x') # list_contains(a, 'x') # pl.col("a").list.contains("x")
array_position # array_position(a, 'x') # list_position(a, 'x') #
array_join # array_join(a, ',') # array_to_string(a, ',') # pl.col("a").list.join(",")
array_distinct # array_distinct(a) # list_distinct(a) # pl.col("a").list.unique()
array_max # array_max(an) # list_max(an) # pl.col("an").list.max()
array_min # array_min(an) # list_min(an) # pl.col("an").list.min()
slice # slice(a, 1, 2) # a[1:2] # pl.col("a").list.slice(0, 2)
sort_array # sort_array(an) # list_sort(an) # pl.col("an").list.sort()
array # array(n, k) # [n, k] # pl.concat_list("n", "k")
named_struct # named_struct('n', n, 't', t) # {n: n, t: t} # pl.struct("n", "t")
map_keys # map_keys(m) # map_keys(m) #
map_values # map_values(m) # map_values(m) #
exists # exists(a, z -> z = 'x') # len(list_filter(a, lambda z: z = 'x')) > 0 # pl.col("a").list.eval(pl.element() == "x").list.any()
filter # filter(an, z -> z > 5) # list_filter(an, lambda z: z > 5) # pl.col("an").list.eval(pl.element().filter(pl.element() > 5))
transform # transform(an, z -> z + 1) # list_transform(an, lambda z: z + 1) # pl.col("an").list.eval(pl.element() + 1)
cidr_match # cidr_match(ip, '10.0.0.0/8') # #
is_private_ip # is_private_ip(ip) # #
haversine # haversine(p, x, p, 13.4) # #
"""
