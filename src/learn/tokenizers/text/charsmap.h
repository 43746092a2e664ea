// The precompiled charsmap of SentencePiece: the replacements of a text's characters.
//
//   u32 size | size bytes: a double array of u32 units (darts-clone) | replacements, each ends with
//   0
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
  // Errors: kTokenizerFormat.
  static Result<Charsmap> parse(std::string_view blob);

  // The replacement of the longest key that `text` begins with, and the key's bytes.
  std::optional<std::string_view> longest(std::string_view text, size_t& length) const;
  // The replacement of the shortest one.
  std::optional<std::string_view> shortest(std::string_view text) const;

  // True for an ASCII character that stays as it is when another one follows.
  bool stays(char c) const { return stays_[static_cast<unsigned char>(c) & 127]; }

 private:
  // Calls take(value, length) for each key that text begins with, until it gives false.
  template <class Take>
  void each_prefix(std::string_view text, const Take& take) const;
  std::string_view replacement(uint32_t value) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> stays_{};
};

}  // namespace hone
