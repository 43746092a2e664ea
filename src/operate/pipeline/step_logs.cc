#include "operate/pipeline/step_logs.h"

#include <algorithm>
#include <functional>

#include "base/core/redact.h"
#include "base/store/private_file.h"

namespace hone {
namespace {

constexpr int64_t kPartBytes = 1 << 20;
constexpr size_t kLongestLine = 16 << 20;  // a longer one is looked at in parts

// Calls `take` with each line and its line break. It ends when `take` returns false.
Result<bool> each_line(Reader& file, const std::function<Result<bool>(const std::string&)>& take) {
  std::string line, part;
  for (int64_t at = 0; at < file.bytes(); at += std::ssize(part)) {
    part.resize(static_cast<size_t>(std::min(kPartBytes, file.bytes() - at)));
    HONE_TRY(file.read(at, std::as_writable_bytes(std::span(part))));
    for (size_t begin = 0; begin < part.size();) {
      const size_t end = std::min(part.find('\n', begin), part.size() - 1) + 1;
      line.append(part, begin, end - begin);
      begin = end;
      if (line.back() != '\n' && line.size() < kLongestLine) continue;
      if (!HONE_TRY(take(line))) return false;
      line.clear();
    }
  }
  return line.empty() ? true : take(line);
}

std::string redacted_line(const std::string& line) {
  return may_hold_a_secret(line) ? redact_text(line) : line;
}

}  // namespace

Status redact_file(Store& store, const std::string& path) {
  if (!HONE_TRY(store.exists(path))) return Ok{};
  const std::unique_ptr<Reader> file = HONE_TRY(store.open(path));
  const bool clean = HONE_TRY(each_line(
      *file, [](const std::string& line) -> Result<bool> { return redacted_line(line) == line; }));
  if (clean) return Ok{};
  const std::unique_ptr<Writer> out = HONE_TRY(store.create(path));
  HONE_TRY(each_line(*file, [&](const std::string& line) -> Result<bool> {
    HONE_TRY(out->write(redacted_line(line)));
    return true;
  }));
  HONE_TRY(out->commit());
  close_to_others(path);
  return Ok{};
}

}  // namespace hone
