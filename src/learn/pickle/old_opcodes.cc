// Opcodes of protocols 0 and 1 that later ones replaced: numbers and strings as text.
#include <cstdlib>

#include "base/core/text.h"
#include "learn/pickle/machine.h"

namespace hone {
namespace {

// `digits` hexadecimal digits at `i`; -1 when they are not there.
int64_t hex(std::string_view text, size_t i, size_t digits) {
  uint32_t x = 0;
  if (i + digits > text.size()) return -1;
  const char* begin = text.data() + i;
  const auto [end, ec] = std::from_chars(begin, begin + digits, x, 16);
  return ec == std::errc() && end == begin + digits ? int64_t{x} : -1;
}

}  // namespace

// Python's repr of a byte string.
Result<PickleMachine::Ref> PickleMachine::quoted(std::string_view text) {
  if (text.size() < 2 || text.front() != text.back() ||
      (text.front() != '\'' && text.front() != '"'))
    return damaged("a string has no quotes");
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    static constexpr std::string_view kLetters = "ntrabfv", kMeanings = "\n\t\r\a\b\f\v";
    const char c = text[++i];
    const int64_t byte = c == 'x' ? hex(text, i + 1, 2) : -1;
    if (byte >= 0) i += 2;
    const size_t letter = kLetters.find(c);
    out += byte >= 0                          ? static_cast<char>(byte)
           : letter != std::string_view::npos ? kMeanings[letter]
                                              : c;
  }
  return own(Kind::text, std::move(out));
}

// Python's raw-unicode-escape: \uXXXX and \UXXXXXXXX, every other byte is Latin-1.
PickleMachine::Ref PickleMachine::escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char kind = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    const int64_t c = digits > 0 ? hex(text, i + 2, digits) : -1;
    if (c >= 0 && c < 0x110000) {
      append_utf8(out, static_cast<uint32_t>(c));
      i += digits + 1;
    } else {
      append_utf8(out, static_cast<unsigned char>(text[i]));
    }
  }
  return own(Kind::text, std::move(out));
}

Status PickleMachine::old_step(uint8_t opcode) {
  switch (opcode) {
    case 'I': {
      const std::string_view text = HONE_TRY(line());
      push(text == "00" ? kFalse : text == "01" ? kTrue : HONE_TRY(decimal(text)));
      return Ok{};
    }
    case 'L': {
      std::string_view text = HONE_TRY(line());
      if (text.ends_with('L')) text.remove_suffix(1);
      push(HONE_TRY(decimal(text)));
      return Ok{};
    }
    case 'F': {
      const std::string text(HONE_TRY(line()).substr(0, 400));
      char* end = nullptr;
      const double x = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0') return damaged(fmt::format("'{}' is not a number", text));
      push(real(x));
      return Ok{};
    }
    case 'S':
      push(HONE_TRY(quoted(HONE_TRY(line()))));
      return Ok{};
    case 'V':
      push(escaped(HONE_TRY(line())));
      return Ok{};
    case 'p':
      return remember(HONE_TRY(memo_line()));
    case 'g':
      return recall(HONE_TRY(memo_line()));
    case 'l':
      push_container(Kind::list, HONE_TRY(pop_to_mark()));
      return Ok{};
    case 'd': {
      std::vector<Ref> items = HONE_TRY(pop_to_mark());
      if (items.size() % 2 != 0) return damaged("a key has no value");
      push_container(Kind::dict, std::move(items));
      return Ok{};
    }
    case 'P': {
      const Ref about = view(Kind::text, HONE_TRY(line())), r = make(Kind::persistent);
      box(r).args = about;
      push(r);
      return Ok{};
    }
    case 'i': {  // INST: class by name, arguments to the mark
      const Ref module = view(Kind::text, HONE_TRY(line()));
      const Ref name = view(Kind::text, HONE_TRY(line()));
      push_container(Kind::tuple, HONE_TRY(pop_to_mark()));
      push_object(global(module, name), HONE_TRY(pop()));
      return Ok{};
    }
    case 'o': {  // OBJ: class, then arguments, to the mark
      std::vector<Ref> items = HONE_TRY(pop_to_mark());
      if (items.empty()) return damaged("an object has no class");
      const Ref callable = items.front();
      items.erase(items.begin());
      push_container(Kind::tuple, std::move(items));
      push_object(callable, HONE_TRY(pop()));
      return Ok{};
    }
    case 0x97:  // NEXT_BUFFER
    case 0x98:  // READONLY_BUFFER
      return damaged("it keeps its buffers in another place");
    case 0x82:
    case 0x83:
    case 0x84:
      return damaged("it names classes by numbers of a private registry");
    default:
      return damaged(fmt::format("0x{:02x} is not an opcode", opcode));
  }
}

}  // namespace hone
