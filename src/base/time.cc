#include "base/time.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/strings.h"

namespace lathe::base {

std::string format_utc(UtcTime time) {
  using namespace std::chrono;
  sys_time<microseconds> point{microseconds(time.micros)};
  auto day = floor<days>(point);
  year_month_day date{day};
  hh_mm_ss clock{point - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", int(date.year()), unsigned(date.month()),
                     unsigned(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::optional<UtcTime> parse_utc(std::string_view text) {
  using namespace std::chrono;
  auto number = [&](std::size_t at, std::size_t length) -> std::optional<std::uint64_t> {
    return text.size() < at + length ? std::nullopt : parse_u64(text.substr(at, length));
  };
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text.back() != 'Z')
    return std::nullopt;
  auto y = number(0, 4), mo = number(5, 2), d = number(8, 2), h = number(11, 2), mi = number(14, 2), s = number(17, 2);
  if (!y || !mo || !d || !h || !mi || !s || *h > 23 || *mi > 59 || *s > 59) return std::nullopt;
  year_month_day date{year(static_cast<int>(*y)), month(static_cast<unsigned>(*mo)), day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  std::int64_t micros = 0;
  if (text.size() > 20) {
    std::string_view fraction = text.substr(20, text.size() - 21);
    auto value = parse_u64(fraction);
    if (text[19] != '.' || !value || fraction.size() > 6) return std::nullopt;
    micros = static_cast<std::int64_t>(*value);
    for (std::size_t i = fraction.size(); i < 6; ++i) micros *= 10;
  }
  auto point = sys_days(date) + hours(*h) + minutes(*mi) + seconds(*s);
  return UtcTime{duration_cast<microseconds>(point.time_since_epoch()).count() + micros};
}

}  // namespace lathe::base
