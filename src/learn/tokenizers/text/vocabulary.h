// Maps tokens to ids and ids to tokens, with one arena of bytes and one flat hash table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct JsonAt;  // json_dom.h

// mix64 hashes two words, hash_bytes a text.
inline uint64_t mix64(uint64_t a, uint64_t b) {
  const auto m =
      static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);
  return static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
}
uint64_t hash_bytes(std::string_view bytes);

class Vocabulary {
 public:
  // Reserves memory for a number of tokens and their bytes together.
  void reserve(size_t tokens, size_t bytes);

  // Adds a token, spelled as in its file (byte-level: "Ġthe"). If a token is added twice, its last id counts. If an id
  // is added twice, token() returns its last token. Ids may have gaps. Errors: H2005 the id is negative or greater than
  // kMaxId.
  Status add(std::string_view token, int64_t id);

  std::optional<int32_t> find(std::string_view token) const;
  // The token of an id; none if the id has no token.
  std::optional<std::string_view> token(int64_t id) const;

  std::string to_json() const;  // {"token":id,...} in the order of ids

  int64_t size() const { return count_; }                                   // distinct tokens
  int64_t id_limit() const { return static_cast<int64_t>(by_id_.size()); }  // largest id + 1

  static constexpr int64_t kMaxId = (1 << 24) - 1;

 private:
  struct Slot {
    uint32_t tag = 0;  // high bits of the hash
    uint32_t offset = 0, length = 0;
    int32_t id = -1;  // -1: the slot is free
  };
  struct Place {
    uint32_t offset = 0, length = kAbsent;
  };
  static constexpr uint32_t kAbsent = 0xffffffff;

  size_t slot_of(std::string_view token, uint64_t hash) const;
  void grow(size_t slots);

  std::string arena_;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::vector<Place> by_id_;
  int64_t count_ = 0;
};

// Adds the tokens of a JSON object {"token": id, ...}. Errors: H2002 it is not such an object; H2005 an id is out of
// range.
Status read_vocabulary(const JsonAt& spec, Vocabulary& vocabulary);

}  // namespace hone
