#include "learn/files/id_lines.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace hone {
namespace {

constexpr int64_t kMostSpelled = 1 << 18;

}  // namespace

IdLines::IdLines(int64_t id_limit)
    : spelled_(static_cast<size_t>(std::min(id_limit, kMostSpelled))) {
  for (size_t n = 0; n < spelled_.size(); ++n) {
    char text[8] = {};
    char* const end = std::to_chars(text, text + 6, n).ptr;
    *end = ',';
    std::memcpy(&spelled_[n], text, 7);
    spelled_[n] |= static_cast<uint64_t>(end + 1 - text) << 56;
  }
}

void IdLines::append_numbers(std::string_view head, std::span<const int32_t> numbers,
                             std::string& out) const {
  constexpr size_t kDigits = 11;  // of a number, and a comma; a spelled one writes 8 bytes
  const size_t before = out.size();
  out.resize(before + head.size() + numbers.size() * kDigits + kDigits);
  char* p = std::copy(head.begin(), head.end(), out.data() + before);
  for (const int32_t number : numbers) {
    if (static_cast<uint32_t>(number) < spelled_.size()) {
      const uint64_t text = spelled_[static_cast<uint32_t>(number)];
      std::memcpy(p, &text, 8);
      p += text >> 56;
      continue;
    }
    p = std::to_chars(p, p + kDigits, number).ptr;
    *p++ = ',';
  }
  if (!numbers.empty()) --p;
  *p++ = ']';
  out.resize(static_cast<size_t>(p - out.data()));
}

void IdLines::append(std::span<const int32_t> ids, std::string& out) const {
  append_numbers("{\"ids\":[", ids, out);
  out += "}\n";
}

void IdLines::append(std::span<const int32_t> ids, std::span<const int32_t> type_ids,
                     std::string& out) const {
  append_numbers("{\"ids\":[", ids, out);
  append_numbers(",\"token_type_ids\":[", type_ids, out);
  out += "}\n";
}

}  // namespace hone
