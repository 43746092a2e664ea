// "Precompiled": the charsmap of SentencePiece as tokenizers applies it, to grapheme clusters of
// less than six bytes as a whole (by the shortest key that they begin with), else to characters.
// Reference: huggingface/tokenizers normalizers/precompiled.rs; UAX 29 for the clusters.
#include <utf8proc.h>

#include "base/unicode/base64.h"
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/charsmap.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    buffer.clear();
    const char* const end = text.data() + text.size();
    const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    for (const char* p = text.data(); p < end;) {
      const char* q = p;
      while (q < end && ascii(*q) && map_.stays(*q)) ++q;
      // A character outside ASCII may belong to the one before it.
      if (q > p && q < end && !ascii(*q)) --q;
      buffer.append(p, q);
      p = q;
      if (p == end) break;
      q = cluster_end(p, end);
      append_cluster(p, q, buffer);
      p = q;
    }
    return buffer;
  }

 private:
  static const char* cluster_end(const char* p, const char* end) {
    Char before = decode_char(p, end);
    p += before.length;
    if (before.code == kInvalidChar) return p;
    for (utf8proc_int32_t state = 0; p < end; p += before.length) {
      const Char next = decode_char(p, end);
      if (next.code == kInvalidChar ||
          utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.code),
                                           static_cast<utf8proc_int32_t>(next.code), &state))
        break;
      before = next;
    }
    return p;
  }

  void append_cluster(const char* p, const char* end, std::string& out) const {
    if (end - p < 6) {
      if (const auto by = map_.shortest({p, static_cast<size_t>(end - p)})) {
        out += *by;
        return;
      }
    }
    for (Char c; p < end; p += c.length) {
      c = decode_char(p, end);
      const std::string_view raw(p, static_cast<size_t>(c.length));
      out += map_.shortest(raw).value_or(raw);
    }
  }

  Charsmap map_;
};

Result<std::unique_ptr<Normalizer>> make_normalizer_precompiled(const JsonAt& spec,
                                                                const StageContext&) {
  const JsonAt at = HONE_TRY(spec.get("precompiled_charsmap"));
  std::string blob;
  if (!decode_base64(HONE_TRY(at.string()), blob)) return at.expected("a charsmap in base64");
  auto map = Charsmap::parse(blob);
  if (!map.ok()) return std::move(map.error()).at(at.where);
  return std::unique_ptr<Normalizer>(std::make_unique<Precompiled>(std::move(map).value()));
}

}  // namespace

StageType tokenizer_stage_normalizer_precompiled() {
  return {.types = {"Precompiled"}, .normalizer = make_normalizer_precompiled};
}

}  // namespace hone
