#include "learn/tokenizers/token_spans.h"

#include <algorithm>

#include "base/unicode/unicode.h"

namespace hone {
namespace {

constexpr std::string_view kWordStart = "\u2581", kContinues = "##";

bool is_space(uint32_t code) { return (class_of(char_classes(), code) & kSpace) != 0; }
bool is_word(uint32_t code) {
  return code >= 0x80 || (class_of(char_classes(), code) & (kLetter | kNumber)) != 0;
}

// The text as its tokens spell it, and for each byte of it the character of the text.
struct Spelled {
  std::string text;
  std::vector<TokenSpan> from;

  void add(std::string_view piece, TokenSpan character) {
    text += piece;
    from.resize(text.size(), character);
  }
};

// Normalizers of today's models change characters one by one; where one would join them, a token is not
// found and has an empty span.
Spelled spell(const Tokenizer& tokenizer, std::string_view text) {
  Spelled out;
  const Normalizer* normalizer = tokenizer.parts().normalizer.get();
  std::string buffer;
  for (size_t at = 0; at < text.size();) {
    const Char c = decode_char(text.data() + at, text.data() + text.size());
    const auto length = static_cast<size_t>(c.length);
    const std::string_view one = text.substr(at, length);
    const TokenSpan here{at, at + length};
    at += length;
    if (is_space(c.code)) {
      out.add(" ", here);
      continue;
    }
    std::string_view piece = normalizer ? normalizer->normalize(one, buffer) : one;
    if (piece.starts_with(kWordStart)) piece.remove_prefix(kWordStart.size());
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    out.add(piece, here);
  }
  return out;
}

// Byte-level tokens, one after another, are the bytes of the text.
bool spans_of_bytes(const Tokenizer& tokenizer, std::string_view text, std::span<const int32_t> ids,
                    std::vector<TokenSpan>& spans) {
  std::string decoded;
  Tokenizer::DecodeState state;
  for (const int32_t id : ids) {
    const size_t begin = decoded.size();
    tokenizer.decode_next(id, false, state, decoded);
    spans.push_back({begin, decoded.size()});
  }
  const size_t shift = decoded.size() - std::min(decoded.size(), text.size());
  if (shift > 1 || std::string_view(decoded).substr(shift) != text) return false;
  for (TokenSpan& span : spans) {
    span.begin = std::max(span.begin, shift) - shift;
    span.end = std::max(span.end, shift) - shift;
    while (span.begin < span.end && is_space(static_cast<unsigned char>(text[span.begin])))
      ++span.begin;
    const auto continues = [&](size_t at) {
      return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    };
    if (span.begin == span.end) continue;
    while (span.begin > 0 && continues(span.begin)) --span.begin;
    while (continues(span.end)) ++span.end;
  }
  return true;
}

// The end of the word, or the one sign, at `at`.
size_t end_of_word(const std::string& text, size_t at) {
  const char* end = text.data() + text.size();
  bool first = true;
  while (at < text.size()) {
    const Char c = decode_char(text.data() + at, end);
    if (is_space(c.code) || (!is_word(c.code) && !first)) break;
    at += static_cast<size_t>(c.length);
    if (first && !is_word(c.code)) break;
    first = false;
  }
  return at;
}

}  // namespace

std::vector<TokenSpan> token_spans(const Tokenizer& tokenizer, std::string_view text,
                                   std::span<const int32_t> ids) {
  std::vector<TokenSpan> spans;
  if (spans_of_bytes(tokenizer, text, ids, spans)) return spans;
  spans.clear();
  const Spelled spelled = spell(tokenizer, text);
  const std::string& all = spelled.text;
  size_t at = 0;
  for (const int32_t id : ids) {
    std::string token = tokenizer.token_of(id).value_or("");
    if (token.starts_with(kWordStart)) token.erase(0, kWordStart.size());
    if (token.starts_with(kContinues) && token.size() > kContinues.size())
      token.erase(0, kContinues.size());
    while (at < all.size() && all[at] == ' ') ++at;
    size_t end = at + token.size();
    if (tokenizer.unk_id() == id)
      end = end_of_word(all, at);
    else if (all.compare(at, token.size(), token) != 0)
      end = at;
    if (end == at || end > all.size()) {
      const size_t here = at < all.size() ? spelled.from[at].begin : text.size();
      spans.push_back({here, here});
      continue;
    }
    spans.push_back({spelled.from[at].begin, spelled.from[end - 1].end});
    at = end;
  }
  return spans;
}

}  // namespace hone
