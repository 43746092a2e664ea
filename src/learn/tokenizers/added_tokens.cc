#include "learn/tokenizers/added_tokens.h"

#include <cstring>

#include "base/unicode/unicode.h"

namespace hone {
namespace {

bool space_at(Char c) {
  return c.code != kInvalidChar && (class_of(char_classes(), c.code) & kSpace);
}

}  // namespace

void AddedTokens::Trie::insert(std::string_view text, int32_t token) {
  if (text.empty()) return;
  if (nodes.empty()) nodes.emplace_back();
  int32_t at = 0;
  for (const char byte : text) {
    int32_t child = nodes[at].child;
    while (child >= 0 && nodes[child].byte != byte) child = nodes[child].sibling;
    if (child < 0) {
      child = static_cast<int32_t>(nodes.size());
      nodes.push_back({-1, nodes[at].child, -1, byte});
      nodes[at].child = child;
      if (at == 0) {
        first[static_cast<unsigned char>(byte)] = child;
        ++first_bytes;
        only_first = byte;
      }
    }
    at = child;
  }
  nodes[at].token = token;
}

int32_t AddedTokens::Trie::longest(std::string_view text, size_t at, size_t& length) const {
  int32_t found = -1;
  int32_t node = first[static_cast<unsigned char>(text[at])];
  for (size_t i = at; node >= 0;) {
    ++i;
    if (nodes[node].token >= 0) {
      found = nodes[node].token;
      length = i - at;
    }
    if (i == text.size()) break;
    int32_t child = nodes[node].child;
    while (child >= 0 && nodes[child].byte != text[i]) child = nodes[child].sibling;
    node = child;
  }
  return found;
}

size_t AddedTokens::Trie::next_start(std::string_view text, size_t at) const {
  if (at >= text.size()) return text.size();
  if (first_bytes == 1) {
    const void* p = std::memchr(text.data() + at, only_first, text.size() - at);
    return p ? static_cast<size_t>(static_cast<const char*>(p) - text.data()) : text.size();
  }
  while (at < text.size() && first[static_cast<unsigned char>(text[at])] < 0) ++at;
  return at;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto at = index_.find(content);
  return at ? &tokens_[static_cast<size_t>(*at)] : nullptr;
}

const AddedToken* AddedTokens::find(int64_t id) const {
  for (const AddedToken& t : tokens_)
    if (t.id == id) return &t;
  return nullptr;
}

void AddedTokens::add(AddedToken token, const Vocabulary& vocabulary,
                      const Normalizer* normalizer) {
  if (token.content.empty() || index_.find(token.content)) return;
  if (const auto id = vocabulary.find(token.content)) {
    token.id = *id;
  } else {
    // The next id is counted from the size of the vocabulary, or from the highest added id.
    const auto size = static_cast<int32_t>(vocabulary.size());
    token.id = highest_id_ >= size ? highest_id_ + 1 : size;
    ++beyond_;
  }
  highest_id_ = std::max(highest_id_, token.id);
  const auto place = static_cast<int32_t>(tokens_.size());
  if (!index_.add(token.content, place).ok()) return;
  if (token.normalized && normalizer) {  // it is found, and decoded, in its normal form
    std::string buffer;
    token.content = std::string(normalizer->normalize(token.content, buffer));
  }
  tries_[token.normalized].insert(token.content, place);
  tokens_.push_back(std::move(token));
}

void AddedTokens::split(std::string_view text, bool normalized, bool skip_special,
                        PieceSink on_text, TokenSink on_token) const {
  const Trie& trie = tries_[normalized];
  if (trie.nodes.empty()) {
    if (!text.empty()) on_text(text);
    return;
  }
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  size_t done = 0;  // up to here everything was handed out
  for (size_t at = trie.next_start(text, 0); at < text.size();) {
    size_t length = 0;
    const int32_t found = trie.longest(text, at, length);
    if (found < 0) {
      at = trie.next_start(text, at + 1);
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(found)];
    size_t start = at, stop = at + length;
    at = stop;  // also skips a match that is discarded below
    if (!(skip_special && token.special)) {
      const bool touches_word =
          token.single_word &&
          ((start > 0 && is_word_char(decode_last_char(begin, begin + start).code)) ||
           (stop < text.size() && is_word_char(decode_char(begin + stop, end).code)));
      if (!touches_word) {
        if (token.lstrip) {
          while (start > done) {
            const Char c = decode_last_char(begin + done, begin + start);
            if (!space_at(c)) break;
            start -= static_cast<size_t>(c.length);
          }
        }
        if (token.rstrip) {
          while (stop < text.size()) {
            const Char c = decode_char(begin + stop, end);
            if (!space_at(c)) break;
            stop += static_cast<size_t>(c.length);
          }
        }
        if (done < start) on_text(text.substr(done, start - done));
        on_token(token);
        done = stop;
      }
    }
    at = trie.next_start(text, at);
  }
  if (done < text.size()) on_text(text.substr(done));
}

}  // namespace hone
