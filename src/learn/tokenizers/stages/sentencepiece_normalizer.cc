#include "learn/tokenizers/stages/sentencepiece_normalizer.h"

#include "base/unicode/swar.h"
#include "base/unicode/unicode.h"
#include "learn/tokenizers/text/metaspace.h"
#include "learn/tokenizers/text/pattern.h"
#include "learn/tokenizers/text/prefix_trie.h"

namespace hone {
namespace {

class SentencePieceNormalizer : public Normalizer {
 public:
  explicit SentencePieceNormalizer(SentencePieceNormalization how) : how_(std::move(how)) {
    std::vector<PrefixTrie::Key> keys;
    for (const std::string& piece : how_.user_defined) keys.emplace_back(piece, 0);
    user_defined_ = PrefixTrie(std::move(keys));
    for (int c = 1; c < 128; ++c) {
      const bool begins = std::any_of(how_.user_defined.begin(), how_.user_defined.end(),
                                      [&](const std::string& u) { return u[0] == c; });
      plain_[static_cast<size_t>(c)] =
          !begins && (!how_.charsmap || how_.charsmap->stays(static_cast<char>(c)));
    }
  }

  std::string_view normalize(std::string_view text, std::string& out) const override {
    out.clear();
    const char *p = text.data(), *const end = p + text.size();
    bool after_space = how_.squeeze;  // spaces are taken off here
    bool begun = false;
    while (p < end) {
      const char* q = p;
      while (q < end && plain_[static_cast<unsigned char>(*q)]) ++q;
      // A character outside ASCII may belong to the one before it.
      if (q > p && q < end && static_cast<unsigned char>(*q) >= 0x80) --q;
      if (!begun && how_.squeeze)
        while (p < q && *p == ' ') ++p;
      if (q > p) {
        begin(begun, out);
        append_plain({p, static_cast<size_t>(q - p)}, after_space, out);
        p = q;
        continue;
      }
      if (p == end) break;
      size_t length = 0;
      std::string_view by = prefix(p, end, length);
      p += length;
      if (!begun && how_.squeeze && by == " ") continue;
      begin(begun, out);
      while (after_space && by.starts_with(' ')) by.remove_prefix(1);
      if (by.empty()) continue;
      for (size_t at = 0; at < by.size();) {
        const size_t space = std::min(by.find(' ', at), by.size());
        out += by.substr(at, space - at);
        if (space < by.size()) out += kMetaspace;
        at = space + 1;
      }
      after_space = how_.squeeze && by.ends_with(' ');
    }
    while (how_.squeeze && out.ends_with(kMetaspace)) out.resize(out.size() - kMetaspace.size());
    return out;
  }

 private:
  // Text in which only spaces change.
  void append_plain(std::string_view text, bool& after_space, std::string& out) const {
    const char *p = text.data(), *const end = p + text.size();
    while (p < end) {
      if (after_space)
        while (p < end && *p == ' ') ++p;
      // As far as no space is left out.
      const char* const q = how_.squeeze ? find_twice(p, end, ' ') : end;
      if (q > p) after_space = how_.squeeze && q[-1] == ' ';
      append_replaced_byte({p, static_cast<size_t>(q - p)}, ' ', kMetaspace, out);
      p = q;
    }
  }
  void begin(bool& begun, std::string& out) const {
    if (!begun && how_.prefix) out += kMetaspace;
    begun = true;
  }
  // The replacement of the first bytes of [p, end), and their number.
  std::string_view prefix(const char* p, const char* end, size_t& length) const {
    const std::string_view rest(p, static_cast<size_t>(end - p));
    int32_t ignored = 0;
    length = static_cast<size_t>(user_defined_.longest(p, end, ignored) - p);
    if (length > 0) return rest.substr(0, length);
    if (how_.charsmap)
      if (const auto by = how_.charsmap->longest(rest, length)) return *by;
    const Char c = decode_char(p, end);
    length = static_cast<size_t>(c.length);
    return c.code == kInvalidChar ? std::string_view("\xEF\xBF\xBD") : rest.substr(0, length);
  }

  SentencePieceNormalization how_;
  PrefixTrie user_defined_;
  std::array<bool, 256> plain_{};  // alone, whatever ASCII follows it
};

}  // namespace

std::unique_ptr<Normalizer> make_sentencepiece_normalizer(SentencePieceNormalization how) {
  return std::make_unique<SentencePieceNormalizer>(std::move(how));
}

}  // namespace hone
