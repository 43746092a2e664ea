#include "learn/tokenizers/text/bert_chars.h"

#include <utf8proc.h>

#include <string>
#include <vector>

#include "base/unicode/unicode_tables.h"

namespace hone {
namespace {

constexpr CodeRange kChinese[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                  {0x20000, 0x2a6df}, {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf},
                                  {0x2f800, 0x2fa1f}};

std::vector<uint8_t> build() {
  std::vector<uint8_t> table(kClassTableSize, 0);
  const auto mark = [&](std::span<const CodeRange> ranges, uint8_t bit) {
    for (const CodeRange& r : ranges)
      for (uint32_t c = r.first; c <= r.last && c < kClassTableSize; ++c) table[c] |= bit;
  };
  mark(control_ranges(), kBertControl);
  mark(kChinese, kBertChinese);
  mark(mark_ranges(), kBertMark);
  mark(punctuation_ranges(), kBertPunctuation);
  const uint8_t* classes = char_classes();
  std::string lower, same;
  for (uint32_t c = 0; c < kClassTableSize; ++c) {
    if (classes[c] & kSpace) table[c] |= kBertSpace;
    if (c >= 0xd800 && c < 0xe000) continue;
    const utf8proc_property_t* p = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    lower.clear();
    same.clear();
    append_lower_char(c, lower);
    append_utf8(same, c);
    const bool decomposes = p->decomp_seqindex != UINT16_MAX && p->decomp_type == 0;
    const bool syllable = c >= 0xac00 && c <= 0xd7a3;
    if (decomposes || syllable || p->combining_class != 0 || lower != same) table[c] |= kBertMixed;
  }
  return table;
}

}  // namespace

const uint8_t* bert_chars() {
  static const std::vector<uint8_t> table = build();
  return table.data();
}

}  // namespace hone
