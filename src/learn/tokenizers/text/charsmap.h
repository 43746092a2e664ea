// The precompiled charsmap of SentencePiece, which maps character sequences (keys) to their replacements.
//
//   u32 size | a double array of u32 units (darts-clone), `size` bytes | replacements, each ended by a 0 byte
//
// Reference: google/sentencepiece normalizer.cc; s-yata/darts-clone for the units.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

class Charsmap {
 public:
  // Parses a charsmap; copies the bytes. Errors: H2002 the charsmap is damaged.
  static Result<Charsmap> parse(std::string_view blob);

  // The replacement of the longest key that `text` begins with; none if there is no such key. Sets `length` to the
  // bytes of the key.
  std::optional<std::string_view> longest(std::string_view text, size_t& length) const;
  // The replacement of the shortest key that `text` begins with; none if there is no such key.
  std::optional<std::string_view> shortest(std::string_view text) const;

  // True if `c`, an ASCII character, is not replaced when another ASCII character follows it.
  bool stays(char c) const { return stays_[static_cast<unsigned char>(c) & 127]; }

 private:
  // Calls take(value, length) for each key that `text` begins with, the shortest first, until take() returns false.
  template <class Take>
  void each_prefix(std::string_view text, const Take& take) const;
  std::string_view replacement(uint32_t value) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> stays_{};
};

}  // namespace hone
