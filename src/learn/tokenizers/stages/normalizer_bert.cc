// "BertNormalizer": drops control characters and makes white space a space, puts spaces around
// Chinese characters, takes accents off (NFD without the marks Mn) and lowers the case; one walk
// over the text. Bytes that are not UTF-8 stay.
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/bert_chars.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

struct BertOptions {
  bool clean_text = true, chinese = true, strip_accents = true, lowercase = true;
};

// Characters of a canonical combining class above 0, which Unicode orders by it; at most
// kMost at a time, so that no text makes this slow.
class MarkRun {
 public:
  static constexpr size_t kMost = 256;
  bool full() const { return count_ == kMost; }
  void add(uint32_t code, uint8_t combining_class) { marks_[count_++] = {code, combining_class}; }
  template <class Take>
  void flush(const Take& take) {
    if (count_ == 0) return;
    // An insertion sort: it is stable, and runs are short.
    for (size_t i = 1; i < count_; ++i)
      for (size_t j = i; j > 0 && marks_[j].order < marks_[j - 1].order; --j)
        std::swap(marks_[j], marks_[j - 1]);
    for (size_t i = 0; i < count_; ++i) take(marks_[i].code);
    count_ = 0;
  }

 private:
  struct Mark {
    uint32_t code;
    uint8_t order;
  };
  std::array<Mark, kMost> marks_;
  size_t count_ = 0;
};

class Bert : public Normalizer {
 public:
  explicit Bert(BertOptions options) : options_(options), chars_(bert_chars()) {
    for (uint32_t c = 0; c < 128; ++c) {
      ascii_[c] = {static_cast<char>(c), 1};
      if (!options_.clean_text) {
      } else if (chars_[c] & kBertControl) {
        ascii_[c] = {0, 0};
      } else if (chars_[c] & kBertSpace) {
        ascii_[c] = {' ', 1};
      }
      if (options_.lowercase && c >= 'A' && c <= 'Z') ascii_[c].byte = static_cast<char>(c + 32);
    }
  }

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    buffer.clear();
    MarkRun run;
    const auto put = [&](uint32_t code) {
      if (options_.lowercase)
        append_lower_char(code, buffer);
      else
        append_utf8(buffer, code);
    };
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p < end;) {
      if (static_cast<unsigned char>(*p) < 0x80) {
        run.flush(put);
        p = append_ascii(p, end, buffer);
        continue;
      }
      const Char c = decode_char(p, end);
      const std::string_view raw(p, static_cast<size_t>(c.length));
      p += c.length;
      const uint8_t bits = c.code == kInvalidChar ? 0 : bert_char(chars_, c.code);
      if (options_.clean_text && (bits & kBertControl)) continue;
      const bool space = options_.clean_text && (bits & kBertSpace);
      const bool alone = options_.chinese && (bits & kBertChinese);
      if (!(bits & (kBertMixed | kBertMark)) || space) {
        run.flush(put);
        if (alone) buffer += ' ';
        if (space)
          buffer += ' ';
        else
          buffer += raw;
      } else {
        if (alone) {  // begins with no mark
          run.flush(put);
          buffer += ' ';
        }
        if (options_.strip_accents)
          decompose(c.code, run, put);
        else
          put(c.code);
      }
      if (alone) buffer += ' ';
    }
    run.flush(put);
    return buffer;
  }

 private:
  struct Ascii {
    char byte = 0;
    uint8_t kept = 1;  // 0 = dropped
  };

  const char* append_ascii(const char* p, const char* end, std::string& buffer) const {
    const size_t before = buffer.size();
    buffer.resize(before + static_cast<size_t>(end - p));
    char* out = buffer.data() + before;
    for (; p < end && static_cast<unsigned char>(*p) < 0x80; ++p) {
      const Ascii a = ascii_[static_cast<unsigned char>(*p)];
      *out = a.byte;
      out += a.kept;
    }
    buffer.resize(static_cast<size_t>(out - buffer.data()));
    return p;
  }

  // Decompositions younger than Unicode 13, which tokenizers does not know.
  static bool young(uint32_t c) {
    return c == 0x105c9 || c == 0x105e4 || (c >= 0x11383 && c <= 0x113c8) || c == 0x11938 ||
           (c >= 0x16121 && c <= 0x16128) || (c >= 0x16d68 && c <= 0x16d6a);
  }

  template <class Put>
  void decompose(uint32_t code, MarkRun& run, const Put& put) const {
    utf8proc_int32_t parts[32];
    int boundary = 0;
    auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts, 32,
                                         UTF8PROC_DECOMPOSE, &boundary);
    if (count < 1 || young(code)) count = 1, parts[0] = static_cast<utf8proc_int32_t>(code);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const auto part = static_cast<uint32_t>(parts[i]);
      const auto order = static_cast<uint8_t>(utf8proc_get_property(parts[i])->combining_class);
      if (order == 0 || run.full()) run.flush(put);
      if (bert_char(chars_, part) & kBertMark) continue;
      if (order == 0)
        put(part);
      else
        run.add(part, order);
    }
  }

  BertOptions options_;
  const uint8_t* chars_;
  std::array<Ascii, 128> ascii_;
};

Result<std::unique_ptr<Normalizer>> make_normalizer_bert(const JsonAt& spec, const StageContext&) {
  BertOptions o;
  o.clean_text = HONE_TRY(spec.boolean_or("clean_text", true));
  o.chinese = HONE_TRY(spec.boolean_or("handle_chinese_chars", true));
  o.lowercase = HONE_TRY(spec.boolean_or("lowercase", true));
  o.strip_accents = HONE_TRY(spec.boolean_or("strip_accents", o.lowercase));
  return std::unique_ptr<Normalizer>(std::make_unique<Bert>(o));
}

}  // namespace

StageType tokenizer_stage_normalizer_bert() {
  return {.types = {"BertNormalizer"}, .normalizer = make_normalizer_bert};
}

}  // namespace hone
