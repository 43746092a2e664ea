#include "learn/data/formats/encoding.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"

namespace hone {
namespace {

struct Known {
  Charset encoding;
  const char* name;
};
constexpr Known kKnown[] = {
    {Charset::kUtf8, "utf-8"},        {Charset::kUtf16, "utf-16"},
    {Charset::kUtf16Le, "utf-16-le"}, {Charset::kUtf16Be, "utf-16-be"},
    {Charset::kCp1252, "cp1252"},     {Charset::kLatin1, "latin-1"},
    {Charset::kUtf8, "utf-8-sig"},    {Charset::kCp1252, "windows-1252"},
    {Charset::kLatin1, "iso-8859-1"},
};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : to_lower(name)) {
    if (c != '-' && c != '_') out += c;
  }
  return out;
}

// Decodes into UTF-8. Stops before the first byte that the encoding does not allow, and names it
// when there is nothing left to give.
class DecodedSource final : public SequentialSource {
 public:
  DecodedSource(std::unique_ptr<Source> from, Charset encoding)
      : SequentialSource(from->name()), from_(std::move(from)), encoding_(encoding) {}

 private:
  static constexpr size_t kChunkBytes = 64 << 10;

  Result<int64_t> make(char* to, int64_t size) override {
    while (ready_at_ == ready_.size() && bad_.empty() && !ended_) HONE_TRY(decode());
    if (ready_at_ == ready_.size() && !bad_.empty()) {
      return Error(err::kNotUtf8, fmt::format("{} of {} text", bad_, encoding_name(encoding_)))
          .todo("check the encoding: `encoding` names it; `file` guesses it");
    }
    const size_t n = ready_.copy(to, static_cast<size_t>(size), ready_at_);
    ready_at_ += n;
    return static_cast<int64_t>(n);
  }
  Status restart() override {
    in_.clear(), ready_.clear(), bad_.clear();
    ready_at_ = 0;
    ended_ = false, at_start_ = true;
    return from_->seek(0);
  }

  Status decode() {
    const size_t had = in_.size();
    in_.resize(had + kChunkBytes);
    Result<int64_t> n = from_->read(in_.data() + had, kChunkBytes);
    in_.resize(had + (n.ok() ? static_cast<size_t>(*n) : 0));
    HONE_TRY(std::move(n));
    ended_ = in_.size() == had;
    ready_.clear();
    ready_at_ = 0;
    const size_t used = encoding_ == Charset::kCp1252 || encoding_ == Charset::kLatin1
                            ? decode_bytes()
                            : decode_pairs();
    in_.erase(0, used);
    return Ok{};
  }

  size_t decode_bytes() {
    for (size_t i = 0; i < in_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(in_[i]);
      if (byte < 0x80) {
        ready_ += in_[i];
        continue;
      }
      const char32_t c = encoding_ == Charset::kLatin1 ? byte : cp1252_character(byte);
      if (c == 0) {
        bad_ = fmt::format("byte 0x{:02X} is not a character", byte);
        return i;
      }
      append_utf8(ready_, c);
    }
    return in_.size();
  }

  // The two bytes at `i` as a number.
  uint32_t pair(size_t i) const {
    const auto a = static_cast<unsigned char>(in_[i]), b = static_cast<unsigned char>(in_[i + 1]);
    return big_ ? a << 8 | b : b << 8 | a;
  }

  size_t decode_pairs() {
    if (at_start_ && (in_.size() >= 2 || ended_)) {
      at_start_ = false;
      big_ = encoding_ == Charset::kUtf16Be ||
             (encoding_ == Charset::kUtf16 && in_.starts_with("\xFE\xFF"));
    }
    size_t i = 0;
    for (; i + 2 <= in_.size(); i += 2) {
      uint32_t c = pair(i);
      if (c >= 0xD800 && c < 0xE000) {
        if (c < 0xDC00 && i + 4 > in_.size() && !ended_) return i;
        const uint32_t low = c < 0xDC00 && i + 4 <= in_.size() ? pair(i + 2) : 0;
        if (low < 0xDC00 || low >= 0xE000) {
          bad_ = fmt::format("0x{:04X} without its partner is not a character", c);
          return i;
        }
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      }
      append_utf8(ready_, c);
    }
    if (ended_ && i < in_.size())
      bad_ = fmt::format("a last single byte 0x{:02X} is not a character",
                         static_cast<unsigned char>(in_[i]));
    return i;
  }

  std::unique_ptr<Source> from_;
  Charset encoding_;
  std::string in_;     // read and not decoded
  std::string ready_;  // decoded
  size_t ready_at_ = 0;
  std::string bad_;  // the bytes after ready_ that cannot be decoded
  bool ended_ = false, at_start_ = true, big_ = false;
};

Error not_utf8(std::string what, const std::string& file, int64_t line, int64_t column,
               std::string todo) {
  return Error(err::kNotUtf8, std::move(what))
      .at(fmt::format("{}:{}:{}", file, line, column))
      .todo(std::move(todo));
}

Error utf16(std::string what, const std::string& file, size_t column, const char* encoding) {
  return not_utf8(std::move(what), file, 1, static_cast<int64_t>(column),
                  fmt::format("read it with `encoding` {}", encoding));
}

}  // namespace

Result<Charset> encoding_of(std::string_view name) {
  std::vector<std::string> names;
  for (const Known& known : kKnown) {
    if (plain(known.name) == plain(name)) return known.encoding;
    names.push_back(known.name);
  }
  const std::string near = nearest_name(to_lower(name), names);
  return Error(err::kEncoding,
               fmt::format("`encoding` {} is not an encoding that hone knows", name))
      .todo(fmt::format("{}it is one of {}; convert other encodings to UTF-8 with iconv",
                        near.empty() ? "" : fmt::format("did you mean {}? ", near),
                        join(names, ", ")));
}

const char* encoding_name(Charset encoding) {
  for (const Known& known : kKnown) {
    if (known.encoding == encoding) return known.name;
  }
  throw_bug(__FILE__, __LINE__, "no encoding");
}

std::unique_ptr<Source> as_utf8(std::unique_ptr<Source> source, Charset encoding) {
  if (encoding == Charset::kUtf8) return source;
  return std::make_unique<DecodedSource>(std::move(source), encoding);
}

bool is_utf32(std::string_view head) {
  using namespace std::string_view_literals;
  return head.starts_with("\xFF\xFE\0\0"sv) || head.starts_with("\0\0\xFE\xFF"sv);
}

Status check_not_utf16(std::string_view head, const std::string& file) {
  if (is_utf32(head))
    return not_utf8("the text is UTF-32, by its byte order mark, and not UTF-8", file, 1, 1,
                    fmt::format("make a copy in UTF-8: iconv -f UTF-32 -t UTF-8 '{}' > new", file));
  for (const bool big : {false, true}) {
    const char* order = big ? "big" : "little";
    if (head.starts_with(big ? "\xFE\xFF" : "\xFF\xFE")) {
      return utf16(fmt::format("the text is UTF-16, by its byte order mark 0x{} ({} endian), and "
                               "not UTF-8",
                               big ? "FEFF" : "FFFE", order),
                   file, 1, "utf-16");
    }
    // Letters of the first 256 characters have a zero byte each, always on the same side.
    size_t zeros[2] = {0, 0};
    for (size_t i = 0; i < head.size(); ++i) zeros[i & 1] += head[i] == '\0';
    const size_t pairs = head.size() / 2;
    if (pairs >= 2 && zeros[big ? 0 : 1] * 10 >= pairs * 4 && zeros[big ? 1 : 0] * 20 <= pairs) {
      return utf16(fmt::format("the text looks like UTF-16 ({} endian, every other byte is 0x00) "
                               "and not like UTF-8",
                               order),
                   file, head.find('\0') + 1, big ? "utf-16-be" : "utf-16-le");
    }
  }
  return Ok{};
}

Status check_utf8(std::string_view text, const std::string& file, int64_t line, int64_t column) {
  const size_t bad = find_bad_utf8(text);
  if (bad == std::string_view::npos) return Ok{};
  bool other_utf8 = false;  // characters that are UTF-8 and not ASCII precede the bad byte
  for (size_t i = 0; i < bad; ++i, ++column) {
    other_utf8 = other_utf8 || static_cast<unsigned char>(text[i]) >= 0x80;
    if (text[i] == '\n') {
      ++line;
      column = 0;
    }
  }
  const auto byte = static_cast<unsigned char>(text[bad]);
  std::string what = fmt::format("byte 0x{:02X} is not UTF-8 text", byte);
  const bool cp1252 =
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(bad), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x80 ||
               cp1252_character(static_cast<unsigned char>(c));
      });
  if (cp1252 && !other_utf8) {
    std::string character;
    append_utf8(character, cp1252_character(byte));
    return not_utf8(what + fmt::format(": it looks like cp1252, where it is '{}'", character), file,
                    line, column, "read it with `encoding` cp1252, or mend the line");
  }
  return Error(err::kNotUtf8,
               what + (other_utf8 ? ", though the text before it is: it is damaged or "
                                    "put together from several encodings"
                                  : " and no encoding that hone knows"))
      .at(fmt::format("{}:{}:{}", file, line, column))
      .todo("mend the line");
}

char32_t cp1252_character(unsigned char byte) {
  // Bytes 0x80 to 0x9F (the "best fit" table of unicode.org lists the five that are unused); the
  // rest are those of Latin-1.
  static constexpr char16_t kHigh[32] = {
      0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
      0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
      0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};
  return byte >= 0x80 && byte < 0xA0 ? kHigh[byte - 0x80] : byte;
}

}  // namespace hone
