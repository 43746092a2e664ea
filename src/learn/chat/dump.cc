// json.dumps, as Transformers' filter tojson calls it.
#include <algorithm>

#include "base/core/text.h"
#include "base/unicode/unicode.h"
#include "learn/chat/value.h"

namespace hone::chat {
namespace {

void dump_text(std::string_view text, bool ascii, std::string& out) {
  out += '"';
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Char c = decode_char(p, end);
    const std::string_view bytes(p, static_cast<size_t>(c.length));
    p += c.length;
    constexpr std::string_view kPlain = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    if (const size_t at = c.code < 0x80 ? kPlain.find(bytes[0]) : std::string_view::npos;
        at != std::string_view::npos)
      out += {'\\', kLetters[at]};
    else if (c.code < 0x20 || (ascii && c.code >= 0x7f && c.code <= 0xffff))
      out += fmt::format("\\u{:04x}", c.code);
    else if (ascii && c.code > 0xffff && c.code != kInvalidChar)
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((c.code - 0x10000) >> 10),
                         0xdc00 + ((c.code - 0x10000) & 0x3ff));
    else
      out += bytes;
  }
  out += '"';
}

class Dumper {
 public:
  Dumper(const DumpStyle& style, std::string& out) : style_(style), out_(out) {}

  Status write(const Value& v) {
    switch (v.kind()) {
      case Kind::none:
        out_ += "null";
        return Ok{};
      case Kind::boolean:
        out_ += v.integer() ? "true" : "false";
        return Ok{};
      case Kind::integer:
        out_ += std::to_string(v.integer());
        return Ok{};
      case Kind::real:
        out_ += double_text(v.real());
        return Ok{};
      case Kind::text:
        dump_text(v.text(), style_.ascii, out_);
        return Ok{};
      case Kind::list:
      case Kind::tuple:
        return write_list(v.items());
      case Kind::dict:
        return write_dict(v);
      default:
        if (v.is(Kind::undefined)) return wrong("tojson of what is undefined: " + why_undefined(v));
        return wrong(fmt::format("JSON has no form for a {}", type_name(v)));
    }
  }

 private:
  void line() {
    if (!style_.indent) return;
    out_ += '\n';
    for (int i = 0; i < depth_; ++i) out_ += *style_.indent;
  }
  Status write_list(const Values& items) {
    if (items.empty()) return out_ += "[]", Ok{};
    out_ += '[';
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.comma;
      line();
      HONE_TRY(write(items[i]));
    }
    --depth_;
    line();
    out_ += ']';
    return Ok{};
  }
  Status write_dict(const Value& v) {
    if (v.pairs().empty()) return out_ += "{}", Ok{};
    std::vector<const std::pair<Value, Value>*> pairs;
    for (const auto& pair : v.pairs()) pairs.push_back(&pair);
    if (style_.sort_keys) {
      for (const auto* p : pairs) HONE_TRY(order(p->first, pairs[0]->first));
      std::stable_sort(pairs.begin(), pairs.end(), [](const auto* a, const auto* b) {
        const Result<int> c = order(a->first, b->first);
        return c.ok() && *c < 0;
      });
    }
    out_ += '{';
    ++depth_;
    bool first = true;
    for (const auto* pair : pairs) {
      if (!std::exchange(first, false)) out_ += style_.comma;
      line();
      const Value& key = pair->first;
      if (key.is(Kind::text)) {
        dump_text(key.text(), style_.ascii, out_);
      } else if (key.is(Kind::none) || key.is_number()) {
        out_ += '"';
        HONE_TRY(write(key));
        out_ += '"';
      } else {
        return wrong(fmt::format("a key of JSON cannot be a {}", type_name(key)));
      }
      out_ += style_.colon;
      HONE_TRY(write(pair->second));
    }
    --depth_;
    line();
    out_ += '}';
    return Ok{};
  }

  const DumpStyle& style_;
  std::string& out_;
  int depth_ = 0;
};

}  // namespace

Status dump(const Value& v, const DumpStyle& style, std::string& out) {
  return Dumper(style, out).write(v);
}

}  // namespace hone::chat
