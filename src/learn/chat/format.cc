// "%d of %s" % (...) and "{} of {name:>8}".format(...): the forms that templates use.
//   https://docs.python.org/3/library/string.html#format-specification-mini-language
#include <charconv>
#include <cmath>

#include "learn/chat/python_text.h"
#include "learn/chat/renderer.h"

namespace hone::chat {
namespace {

struct FormSpec {
  std::string fill = " ";
  char align = 0, sign = 0, type = 0;
  bool other = false, zeros = false, commas = false;  // '#', '0', ','
  int64_t width = 0;
  std::optional<int64_t> precision;
};

// Digits at the start of `text`, which are taken off it; more than 1000 is refused.
Result<std::optional<int64_t>> take_digits(std::string_view& text) {
  int64_t n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  if (read.ptr == text.data() || n < 0) return std::optional<int64_t>();
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  if (read.ec != std::errc() || n > 1000) return wrong("a width of more than 1000 in a format");
  return std::optional<int64_t>(n);
}

std::string padded(std::string text, const FormSpec& f, char align) {
  const int64_t lacks = f.width - length_of(text);
  if (lacks <= 0) return text;
  const int64_t before = align == '>' ? lacks : align == '^' ? lacks / 2 : 0;
  std::string out;
  for (int64_t i = 0; i < before; ++i) out += f.fill;
  out += text;
  for (int64_t i = before; i < lacks; ++i) out += f.fill;
  return out;
}

std::string with_commas(std::string digits) {
  size_t end = digits.find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits.size();
  for (; end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

Result<std::string> number_text(const Value& v, const FormSpec& f) {
  const char type = f.type ? f.type : v.is(Kind::real) ? 'r' : 'd';
  std::string digits;
  bool negative = false;
  if (std::string_view("dxXob").find(type) != std::string_view::npos) {
    if (!v.is_whole()) return wrong(fmt::format("the format '{}' needs a whole number", type));
    negative = v.integer() < 0;
    const uint64_t size =
        negative ? 0 - static_cast<uint64_t>(v.integer()) : static_cast<uint64_t>(v.integer());
    digits = type == 'd'   ? fmt::format("{}", size)
             : type == 'x' ? fmt::format("{:x}", size)
             : type == 'X' ? fmt::format("{:X}", size)
             : type == 'o' ? fmt::format("{:o}", size)
                           : fmt::format("{:b}", size);
    if (f.other && type != 'd') digits = std::string("0") + type + digits;
  } else {
    if (!v.is_number()) return wrong(fmt::format("the format '{}' needs a number", type));
    const double size = std::abs(v.real());
    negative = std::signbit(v.real());
    const auto precision = static_cast<int>(f.precision.value_or(6));
    if (!std::isfinite(size)) {
      digits = std::isnan(size) ? "nan" : "inf";
    } else if (type == 'f' || type == 'F') {
      digits = fmt::format("{:.{}f}", size, precision);
    } else if (type == 'e') {
      digits = fmt::format("{:.{}e}", size, precision);
    } else if (type == 'g') {
      digits = fmt::format("{:.{}g}", size, precision);
    } else if (type == '%') {
      digits = fmt::format("{:.{}f}%", size * 100, precision);
    } else if (type == 'r') {
      digits = f.precision ? fmt::format("{:.{}g}", size, precision) : double_text(size);
    } else {
      return wrong(fmt::format("there is no format '{}'", type));
    }
  }
  if (f.commas) digits = with_commas(std::move(digits));
  std::string sign = negative ? "-" : f.sign == '+' || f.sign == ' ' ? std::string(1, f.sign) : "";
  if (f.zeros && !f.align)
    for (auto n = static_cast<int64_t>(sign.size() + digits.size()); n < f.width; ++n)
      digits.insert(0, "0");
  return sign + digits;
}

}  // namespace

Result<std::string> format_by(Renderer&, const Value& v, std::string_view spec) {
  if (spec.empty()) return str(v);
  if (v.is(Kind::undefined)) return wrong(why_undefined(v));
  FormSpec f;
  constexpr std::string_view kAligns = "<>^=";
  const auto is_align = [&](size_t at) {
    return at < spec.size() && kAligns.find(spec[at]) != std::string_view::npos;
  };
  if (const size_t n = byte_of(spec, 1); is_align(n)) {
    f.fill = std::string(spec.substr(0, n));
    f.align = spec[n];
    spec.remove_prefix(n + 1);
  } else if (is_align(0)) {
    f.align = spec[0];
    spec.remove_prefix(1);
  }
  const auto take = [&](std::string_view any) {
    const char c = !spec.empty() && any.find(spec[0]) != std::string_view::npos ? spec[0] : '\0';
    if (c) spec.remove_prefix(1);
    return c;
  };
  f.sign = take("+- ");
  f.other = take("#");
  f.zeros = take("0");
  f.width = HONE_TRY(take_digits(spec)).value_or(0);
  f.commas = take(",");
  if (take(".")) {
    f.precision = HONE_TRY(take_digits(spec));
    if (!f.precision) return wrong("a format lacks its precision");
  }
  if (!spec.empty()) {
    f.type = spec[0];
    spec.remove_prefix(1);
  }
  if (!spec.empty()) return wrong(fmt::format("a format has '{}' too much", spec));
  if (v.is(Kind::text)) {
    if (f.type && f.type != 's')
      return wrong(fmt::format("the format '{}' needs a number", f.type));
    std::string text = v.text();
    if (f.precision) text.resize(byte_of(text, *f.precision));
    return padded(std::move(text), f, f.align ? f.align : '<');
  }
  if (!v.is_number() || f.align == '=')
    return wrong(fmt::format("a {} does not take this format", type_name(v)));
  if (v.is(Kind::boolean) && !f.type) return wrong("a bool does not take this format");
  return padded(HONE_TRY(number_text(v, f)), f, f.align ? f.align : '>');
}

Result<std::string> format_percent(Renderer& r, std::string_view form, const Value& values) {
  const Values given = values.is(Kind::tuple) ? values.items() : Values{values};
  size_t next = 0;
  std::string out;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%') {
      out += form[i];
      continue;
    }
    std::string_view rest = form.substr(i + 1);
    const size_t before = rest.size();
    std::optional<Value> value;
    if (rest.starts_with("(")) {
      const size_t end = rest.find(')');
      if (end == std::string_view::npos || !values.is(Kind::dict))
        return wrong("'%(' needs a name, ')' and a dict");
      const Value* found = values.find(Value(rest.substr(1, end - 1)));
      if (!found) return wrong(fmt::format("the dict has no '{}'", rest.substr(1, end - 1)));
      value = *found;
      rest.remove_prefix(end + 1);
    }
    FormSpec f;
    for (; !rest.empty() && std::string_view("-+ #0").find(rest[0]) != std::string_view::npos;
         rest.remove_prefix(1)) {
      if (rest[0] == '-') f.align = '<';
      if (rest[0] == '+' || (rest[0] == ' ' && !f.sign)) f.sign = rest[0];
      if (rest[0] == '0') f.zeros = true;
      if (rest[0] == '#') f.other = true;
    }
    f.width = HONE_TRY(take_digits(rest)).value_or(0);
    if (rest.starts_with(".")) {
      rest.remove_prefix(1);
      f.precision = HONE_TRY(take_digits(rest)).value_or(0);
    }
    if (rest.empty()) return wrong("a format ends after '%'");
    f.type = rest[0];
    rest.remove_prefix(1);
    i += before - rest.size();
    if (f.type == '%') {
      out += '%';
      continue;
    }
    if (!value) {
      if (next >= given.size()) return wrong("a format has more '%' than there are values");
      value = given[next++];
    }
    if (f.type == 's' || f.type == 'r') {
      std::string text = f.type == 's' ? str(*value) : repr(*value);
      if (f.precision) text.resize(byte_of(text, *f.precision));
      HONE_TRY(r.room_for(static_cast<int64_t>(text.size())));
      out += padded(std::move(text), f, f.align ? f.align : '>');
    } else {
      if (f.type == 'i' || f.type == 'u') f.type = 'd';
      Value number = *value;
      if (f.type == 'd' && number.is(Kind::real) && std::abs(number.real()) < 9e18)
        number = Value(static_cast<int64_t>(number.real()));
      out += padded(HONE_TRY(number_text(number, f)), f, f.align ? f.align : '>');
    }
    HONE_TRY(r.room_for(static_cast<int64_t>(out.size())));
  }
  const bool may_be_left = values.is(Kind::dict) || values.is(Kind::list) ||
                           values.is(Kind::range) || values.is(Kind::undefined);
  if (next < given.size() && !may_be_left)
    return wrong("a format has fewer '%' than there are values");
  return out;
}

Result<std::string> format_braces(Renderer& r, std::string_view form, const CallArguments& a) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < form.size(); ++i) {
    const char c = form[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < form.size() && form[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    const size_t end = form.find('}', i);
    if (c == '}' || end == std::string_view::npos) return wrong("a format has a single brace");
    std::string_view field = form.substr(i + 1, end - i - 1), spec;
    i = end;
    if (field.find('{') != std::string_view::npos)
      return wrong("a format in a format is not supported");
    if (const size_t colon = field.find(':'); colon != std::string_view::npos) {
      spec = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    const size_t bang = field.find('!');
    const std::string_view conversion = bang == std::string_view::npos ? "" : field.substr(bang);
    field = field.substr(0, bang);
    const size_t head_end = field.find_first_of(".[");
    const std::string head(field.substr(0, head_end));
    Value value;
    const auto place =
        head.empty() ? std::optional<int64_t>(static_cast<int64_t>(next++)) : whole_of(head);
    if (place) {
      if (*place < 0 || static_cast<size_t>(*place) >= a.plain.size())
        return wrong("a format has more braces than there are values");
      value = a.plain[static_cast<size_t>(*place)];
    } else {
      bool found = false;
      for (const auto& [name, v] : a.named)
        if (name == head) value = v, found = true;
      if (!found) return wrong(fmt::format("the format names '{}', which is not given", head));
    }
    for (std::string_view rest = head_end == std::string_view::npos ? "" : field.substr(head_end);
         !rest.empty();) {
      const bool item = rest[0] == '[';
      const size_t stop =
          item ? rest.find(']') : std::min(rest.find_first_of(".[", 1), rest.size());
      if (stop == std::string_view::npos) return wrong("a format lacks ']'");
      const std::string_view name = rest.substr(1, stop - 1);
      const auto index = item ? whole_of(name) : std::nullopt;
      value = HONE_TRY(item ? r.item(value, index ? Value(*index) : Value(name))
                            : r.attribute(value, std::string(name)));
      rest.remove_prefix(stop + (item ? 1 : 0));
      if (!rest.empty() && rest[0] != '.' && rest[0] != '[')
        return wrong("a format has text after ']'");
    }
    if (conversion == "!r")
      value = Value(repr(value));
    else if (conversion == "!s")
      value = Value(str(value));
    else if (!conversion.empty())
      return wrong(fmt::format("a format has no '{}'", conversion));
    out += HONE_TRY(format_by(r, value, spec));
    HONE_TRY(r.room_for(static_cast<int64_t>(out.size())));
  }
  return out;
}

}  // namespace hone::chat
