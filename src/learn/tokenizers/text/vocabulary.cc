#include "learn/tokenizers/text/vocabulary.h"

#include <bit>
#include <cstring>

#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {

uint64_t hash_bytes(std::string_view s) {
  const char* p = s.data();
  size_t n = s.size();
  uint64_t h = n * 0x9e3779b97f4a7c15u, a, b;
  for (; n >= 16; p += 16, n -= 16) {
    std::memcpy(&a, p, 8);
    std::memcpy(&b, p + 8, 8);
    h = mix64(a ^ h, b);
  }
  a = b = 0;
  std::memcpy(&a, p, n < 8 ? n : 8);
  if (n > 8) std::memcpy(&b, p + 8, n - 8);
  return mix64(a ^ h, b ^ s.size());
}

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  by_id_.reserve(tokens);
  arena_.reserve(bytes);
  grow(std::bit_ceil(tokens * 2 + 16));
}

size_t Vocabulary::slot_of(std::string_view token, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& s = slots_[i];
    if (s.id < 0) return i;
    if (s.tag == tag && s.length == token.size() &&
        std::memcmp(arena_.data() + s.offset, token.data(), token.size()) == 0)
      return i;
  }
}

void Vocabulary::grow(size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& s : old) {
    if (s.id < 0) continue;
    const std::string_view token(arena_.data() + s.offset, s.length);
    slots_[slot_of(token, hash_bytes(token))] = s;
  }
}

Status Vocabulary::add(std::string_view token, int64_t id) {
  if (id < 0 || id > kMaxId)
    return Error(err::kTokenizerVocabulary,
                 fmt::format("token \"{}\" has the id {}; ids go from 0 to {}", token, id, kMaxId));
  if (arena_.size() + token.size() > 0xfffffff0u)
    return Error(err::kTokenizerVocabulary, "the vocabulary holds more than 4 GB of text");
  if (static_cast<size_t>(count_ + 1) * 2 > slots_.size()) grow(slots_.size() * 2);
  const uint64_t hash = hash_bytes(token);
  Slot& s = slots_[slot_of(token, hash)];
  if (s.id < 0) {
    s = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(arena_.size()),
         static_cast<uint32_t>(token.size()), 0};
    arena_.append(token);
    ++count_;
  }
  s.id = static_cast<int32_t>(id);
  if (by_id_.size() <= static_cast<size_t>(id)) by_id_.resize(static_cast<size_t>(id) + 1);
  by_id_[static_cast<size_t>(id)] = {s.offset, s.length};
  return Ok{};
}

std::optional<int32_t> Vocabulary::find(std::string_view token) const {
  const int32_t id = slots_[slot_of(token, hash_bytes(token))].id;
  if (id < 0) return std::nullopt;
  return id;
}

std::optional<std::string_view> Vocabulary::token(int64_t id) const {
  if (id < 0 || id >= id_limit() || by_id_[static_cast<size_t>(id)].length == kAbsent)
    return std::nullopt;
  const Place& p = by_id_[static_cast<size_t>(id)];
  return std::string_view(arena_.data() + p.offset, p.length);
}

std::string Vocabulary::to_json() const {
  std::string out = "{";
  const char* separator = "\n";
  for (int64_t id = 0; id < id_limit(); ++id) {
    const auto spelled = token(id);
    if (!spelled) continue;
    out += fmt::format("{}{}:{}", separator, json_quote(*spelled), id);
    separator = ",\n";
  }
  return out + "}";
}

Status read_vocabulary(const JsonAt& spec, Vocabulary& vocabulary) {
  const auto tokens = HONE_TRY(spec.object());
  vocabulary.reserve(tokens.size(), tokens.size() * 8);
  for (const auto [token, id] : tokens) {
    int64_t value;
    if (id.get(value)) return JsonAt{id, fmt::format("{}.{}", spec.where, token)}.expected("an id");
    HONE_TRY(vocabulary.add(token, value));
  }
  return Ok{};
}

}  // namespace hone
