// The opcodes. One pass over the bytes, a stack of values, no recursion.
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "learn/pickle/errors.h"
#include "learn/pickle/pickle.h"

namespace hone {

class PickleMachine {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 32;  // so that 32 bits count its values

  PickleMachine(std::string_view bytes, const std::string& name) : in_(bytes), name_(name) {
    for (const PickleKind kind : {PickleKind::none, PickleKind::boolean, PickleKind::boolean})
      make(kind);
    out_.nodes_[2].integer = 1;
  }

  Result<Pickle> run() {
    while (!stopped_) {
      start_ = at_;
      HONE_TRY(step(HONE_TRY(number<uint8_t>())));
      if (cost_ > kFree + kCostPerByte * static_cast<int64_t>(in_.size()))
        return Error(err::kPickleLimit,
                     fmt::format("'{}' unpacks to more than {} times its {} bytes", name_,
                                 kCostPerByte, in_.size()))
            .at(fmt::format("byte {}", at_))
            .todo("it is made to fill the memory, or damaged: get the file again from its source");
    }
    out_.bytes_ = static_cast<int64_t>(at_);
    return std::move(out_);
  }

 private:
  using Ref = uint32_t;
  using Kind = PickleKind;
  static constexpr Ref kNone = 0, kFalse = 1, kTrue = 2;
  static constexpr int64_t kFree = int64_t{256} << 20, kCostPerByte = 16;

  Error damaged(std::string what) const {
    return Error(err::kPickleDamaged, fmt::format("'{}' is no whole pickle: {}", name_, what))
        .at(fmt::format("byte {}", start_))
        .todo("get the file again from its source, or save it again");
  }

  // ---- bytes ----
  Result<std::string_view> take(uint64_t n) {
    if (n > in_.size() - at_)
      return Error(err::kPickleCut,
                   fmt::format("'{}' ends inside its pickle: {} bytes are wanted, {} are left",
                               name_, n, in_.size() - at_))
          .at(fmt::format("byte {}", start_))
          .todo("the file is cut short: get it again from its source");
    const std::string_view found = in_.substr(at_, n);
    at_ += n;
    return found;
  }
  template <class T>
  Result<T> number() {
    T x;
    std::memcpy(&x, HONE_TRY(take(sizeof x)).data(), sizeof x);
    return x;
  }
  template <class Length>
  Result<std::string_view> counted() {
    const Length n = HONE_TRY(number<Length>());
    if constexpr (std::is_signed_v<Length>)
      if (n < 0) return damaged(fmt::format("a length is {}", n));
    return take(static_cast<uint64_t>(n));
  }
  Result<std::string_view> line() {
    const size_t end = in_.find('\n', at_);
    if (end == std::string_view::npos) return take(in_.size() - at_ + 1);
    const std::string_view found = in_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

  // ---- values ----
  Ref make(Kind kind) {
    Pickle::Node n{kind, 0, {0}, 0};
    cost_ += static_cast<int64_t>(sizeof n);
    if (kind >= Kind::list) {
      n.box = static_cast<uint32_t>(out_.boxes_.size());
      out_.boxes_.emplace_back().mapping = kind == Kind::dict;
      cost_ += static_cast<int64_t>(sizeof(Pickle::Box));
    }
    out_.nodes_.push_back(n);
    return static_cast<Ref>(out_.nodes_.size() - 1);
  }
  Pickle::Box& box(Ref r) { return out_.boxes_[out_.nodes_[r].box]; }
  Kind kind(Ref r) const { return out_.nodes_[r].kind; }
  PickleValue value(Ref r) const { return {&out_, r}; }

  Ref integer(int64_t x) {
    const Ref r = make(Kind::integer);
    out_.nodes_[r].integer = x;
    return r;
  }
  Ref real(double x) {
    const Ref r = make(Kind::real);
    out_.nodes_[r].real = x;
    return r;
  }
  Ref view(Kind kind, std::string_view text) {
    const Ref r = make(kind);
    out_.nodes_[r].data = text.data();
    out_.nodes_[r].length = text.size();
    return r;
  }
  Ref own(Kind kind, std::string text) {
    cost_ += static_cast<int64_t>(text.size() + sizeof text);
    out_.texts_.push_back(std::move(text));
    return view(kind, out_.texts_.back());
  }
  Ref global(Ref module, Ref name) {
    const Ref r = make(Kind::global);
    box(r).items = {module, name};
    return r;
  }
  // An integer of `bytes` bytes, two's complement, least significant first.
  Ref long_integer(std::string_view bytes) {
    if (bytes.size() > 8) return view(Kind::big, bytes);
    uint64_t x = !bytes.empty() && (bytes.back() & 0x80) ? ~uint64_t{0} : 0;
    std::memcpy(&x, bytes.data(), bytes.size());
    return integer(static_cast<int64_t>(x));
  }
  Result<Ref> decimal(std::string_view digits) {
    int64_t x = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), x);
    if (ec == std::errc::result_out_of_range) return make(Kind::big);
    if (ec != std::errc() || end != digits.data() + digits.size() || digits.empty())
      return damaged(fmt::format("'{}' is no integer", digits.substr(0, 40)));
    return integer(x);
  }

  // Bytes that protocols below 3 keep as text in Latin-1, and bytearray(bytes): what such calls
  // make, or nothing for every other call.
  std::optional<Ref> as_bytes(Ref callable, Ref args) {
    const PickleValue f = value(callable), a = value(args);
    if (!f.is(Kind::global)) return {};
    const auto builtin = [&](std::string_view name) {
      const auto& names = box(callable).items;
      return value(names[1]).text() == name &&
             (value(names[0]).text() == "builtins" || value(names[0]).text() == "__builtin__");
    };
    if ((builtin("bytes") || builtin("bytearray")) && a.size() == 0) return view(Kind::bytes, {});
    if (builtin("bytearray") && a.size() == 1 && a[0].is(Kind::bytes)) return a[0].id();
    if (!f.is_global("_codecs.encode") || !a[0].is(Kind::text) ||
        (a[1].text() != "latin1" && a[1].text() != "latin-1"))
      return {};
    std::string bytes;
    const std::string_view text = a[0].text();
    bytes.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c < 0x80) {
        bytes += static_cast<char>(c);
      } else if ((c == 0xc2 || c == 0xc3) && i + 1 < text.size()) {
        bytes += static_cast<char>((c << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f));
      } else {
        return {};
      }
    }
    return own(Kind::bytes, std::move(bytes));
  }

  // ---- stack ----
  void push(Ref r) { stack_.push_back(r); }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Result<Ref> pop() {
    if (stack_.size() <= floor()) return damaged("an opcode wants a value and the stack is empty");
    const Ref r = stack_.back();
    stack_.pop_back();
    return r;
  }
  Result<Ref> top() {
    const Ref r = HONE_TRY(pop());
    push(r);
    return r;
  }
  Result<std::vector<Ref>> pop_to_mark() {
    if (marks_.empty()) return damaged("an opcode wants a MARK and there is none");
    std::vector<Ref> found(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                           stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    cost_ += static_cast<int64_t>(found.size() * sizeof(Ref));
    return found;
  }
  void push_container(Kind kind, std::vector<Ref> items) {
    const Ref r = make(kind);
    box(r).items = std::move(items);
    push(r);
  }
  Status push_tuple(int n) {
    std::vector<Ref> items(static_cast<size_t>(n));
    for (int i = n - 1; i >= 0; --i) items[static_cast<size_t>(i)] = HONE_TRY(pop());
    push_container(Kind::tuple, std::move(items));
    return Ok{};
  }
  void push_object(Ref callable, Ref args) {
    if (const auto bytes = as_bytes(callable, args)) return push(*bytes);
    const Ref r = make(Kind::object);
    box(r).callable = callable;
    box(r).args = args;
    push(r);
  }

  // Puts `items` behind those of the container on top of the stack.
  Status add(const std::vector<Ref>& items, bool pairs) {
    const Ref r = HONE_TRY(top());
    const bool fits = kind(r) == Kind::object || kind(r) == (pairs ? Kind::dict : Kind::list) ||
                      (!pairs && kind(r) == Kind::set);
    if (!fits) return damaged("elements are added to something that holds none");
    if (pairs && items.size() % 2 != 0) return damaged("a key has no value");
    Pickle::Box& b = box(r);
    if (b.items.empty() && kind(r) == Kind::object) b.mapping = pairs;
    if (b.mapping != pairs) return damaged("an object gets elements and pairs");
    b.items.insert(b.items.end(), items.begin(), items.end());
    cost_ += static_cast<int64_t>(items.size() * sizeof(Ref));
    return Ok{};
  }

  // ---- memo ----
  Status remember(uint64_t index) {
    // Picklers count from 0 and every entry costs bytes of the pickle.
    if (index >= in_.size())
      return Error(err::kPickleLimit,
                   fmt::format("'{}' wants memo entry {} in a pickle of {} bytes", name_, index,
                               in_.size()))
          .at(fmt::format("byte {}", start_))
          .todo("it is made to fill the memory, or damaged: get the file again from its source");
    if (index >= memo_.size()) memo_.resize(index + 1, kEmpty);
    memo_[index] = HONE_TRY(top());
    ++remembered_;
    return Ok{};
  }
  Status recall(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kEmpty)
      return damaged(fmt::format("memo entry {} was never set", index));
    push(memo_[index]);
    return Ok{};
  }
  Result<uint64_t> memo_line() {
    const std::string_view digits = HONE_TRY(line());
    uint64_t index = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (ec != std::errc() || end != digits.data() + digits.size())
      return damaged("a memo entry has no number");
    return index;
  }

  Status step(uint8_t opcode);
  Status old_step(uint8_t opcode);
  Result<Ref> quoted(std::string_view text);
  Ref escaped(std::string_view text);

  static constexpr Ref kEmpty = ~Ref{0};
  std::string_view in_;
  const std::string& name_;
  size_t at_ = 0, start_ = 0;  // start_: of the opcode at hand
  bool stopped_ = false;
  int64_t cost_ = 0;
  Pickle out_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::vector<Ref> memo_;
  uint64_t remembered_ = 0;
};

Status PickleMachine::step(uint8_t opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (const int protocol = HONE_TRY(number<uint8_t>()); protocol > 5)
        return damaged(fmt::format("protocol {} is not known", protocol));
      return Ok{};
    case 0x95:  // FRAME
      HONE_TRY(number<uint64_t>());
      return Ok{};
    case '.':
      out_.root_ = HONE_TRY(pop());
      stopped_ = true;
      return Ok{};
    case '(':
      marks_.push_back(stack_.size());
      cost_ += static_cast<int64_t>(sizeof(size_t));
      return Ok{};
    case '0':  // POP: a mark when nothing lies on it
      if (!marks_.empty() && stack_.size() == marks_.back()) {
        marks_.pop_back();
        return Ok{};
      }
      HONE_TRY(pop());
      return Ok{};
    case '1':  // POP_MARK
      HONE_TRY(pop_to_mark());
      return Ok{};
    case '2':  // DUP
      push(HONE_TRY(top()));
      return Ok{};

    case 'N':
      push(kNone);
      return Ok{};
    case 0x88:
      push(kTrue);
      return Ok{};
    case 0x89:
      push(kFalse);
      return Ok{};
    case 'J':
      push(integer(HONE_TRY(number<int32_t>())));
      return Ok{};
    case 'K':
      push(integer(HONE_TRY(number<uint8_t>())));
      return Ok{};
    case 'M':
      push(integer(HONE_TRY(number<uint16_t>())));
      return Ok{};
    case 0x8a:  // LONG1
      push(long_integer(HONE_TRY(counted<uint8_t>())));
      return Ok{};
    case 0x8b:  // LONG4
      push(long_integer(HONE_TRY(counted<int32_t>())));
      return Ok{};
    case 'G':  // BINFLOAT, most significant byte first
      push(real(std::bit_cast<double>(__builtin_bswap64(HONE_TRY(number<uint64_t>())))));
      return Ok{};

    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
      push(view(Kind::text, HONE_TRY(counted<uint8_t>())));
      return Ok{};
    case 'X':  // BINUNICODE
      push(view(Kind::text, HONE_TRY(counted<uint32_t>())));
      return Ok{};
    case 'T':  // BINSTRING
      push(view(Kind::text, HONE_TRY(counted<int32_t>())));
      return Ok{};
    case 0x8d:  // BINUNICODE8
      push(view(Kind::text, HONE_TRY(counted<uint64_t>())));
      return Ok{};
    case 'C':  // SHORT_BINBYTES
      push(view(Kind::bytes, HONE_TRY(counted<uint8_t>())));
      return Ok{};
    case 'B':  // BINBYTES
      push(view(Kind::bytes, HONE_TRY(counted<uint32_t>())));
      return Ok{};
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push(view(Kind::bytes, HONE_TRY(counted<uint64_t>())));
      return Ok{};

    case ']':
      push(make(Kind::list));
      return Ok{};
    case ')':
      push(make(Kind::tuple));
      return Ok{};
    case '}':
      push(make(Kind::dict));
      return Ok{};
    case 0x8f:
      push(make(Kind::set));
      return Ok{};
    case 't':
      push_container(Kind::tuple, HONE_TRY(pop_to_mark()));
      return Ok{};
    case 0x85:
    case 0x86:
    case 0x87:
      return push_tuple(opcode - 0x84);
    case 0x91:  // FROZENSET
      push_container(Kind::set, HONE_TRY(pop_to_mark()));
      return Ok{};
    case 'a': {
      const Ref item = HONE_TRY(pop());
      return add({item}, false);
    }
    case 'e':   // APPENDS
    case 0x90:  // ADDITEMS
      return add(HONE_TRY(pop_to_mark()), false);
    case 's': {
      const Ref item = HONE_TRY(pop()), key = HONE_TRY(pop());
      return add({key, item}, true);
    }
    case 'u':  // SETITEMS
      return add(HONE_TRY(pop_to_mark()), true);

    case 'q':
      return remember(HONE_TRY(number<uint8_t>()));
    case 'r':
      return remember(HONE_TRY(number<uint32_t>()));
    case 0x94:  // MEMOIZE
      return remember(remembered_);
    case 'h':
      return recall(HONE_TRY(number<uint8_t>()));
    case 'j':
      return recall(HONE_TRY(number<uint32_t>()));

    case 'c': {  // GLOBAL
      const Ref module = view(Kind::text, HONE_TRY(line()));
      const Ref name = view(Kind::text, HONE_TRY(line()));
      push(global(module, name));
      return Ok{};
    }
    case 0x93: {  // STACK_GLOBAL
      const Ref name = HONE_TRY(pop()), module = HONE_TRY(pop());
      if (kind(name) != Kind::text || kind(module) != Kind::text)
        return damaged("a class has no name");
      push(global(module, name));
      return Ok{};
    }
    case 'R':     // REDUCE
    case 0x81: {  // NEWOBJ
      const Ref args = HONE_TRY(pop()), callable = HONE_TRY(pop());
      push_object(callable, args);
      return Ok{};
    }
    case 0x92: {  // NEWOBJ_EX
      const Ref named = HONE_TRY(pop()), args = HONE_TRY(pop()), callable = HONE_TRY(pop());
      if (kind(named) != Kind::dict) return damaged("named arguments are no dict");
      std::vector<Ref> all = kind(args) == Kind::tuple ? box(args).items : std::vector<Ref>{args};
      cost_ += static_cast<int64_t>(all.size() * sizeof(Ref));
      all.push_back(named);
      push_container(Kind::tuple, std::move(all));
      push_object(callable, HONE_TRY(pop()));
      return Ok{};
    }
    case 'b': {  // BUILD
      const Ref state = HONE_TRY(pop()), object = HONE_TRY(top());
      if (kind(object) == Kind::object) box(object).state = state;
      return Ok{};
    }
    case 'Q': {  // BINPERSID
      const Ref about = HONE_TRY(pop()), r = make(Kind::persistent);
      box(r).args = about;
      push(r);
      return Ok{};
    }
    default:
      return old_step(opcode);
  }
}

namespace {

void put_utf8(std::string& to, uint32_t c) {
  if (c < 0x80) {
    to += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  to += static_cast<char>(kLead[more] | (c >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) to += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3f));
}

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
      put_utf8(out, static_cast<uint32_t>(c));
      i += digits + 1;
    } else {
      put_utf8(out, static_cast<unsigned char>(text[i]));
    }
  }
  return own(Kind::text, std::move(out));
}

// Opcodes of protocols 0 and 1 that later ones replaced.
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
      if (text.empty() || *end != '\0') return damaged(fmt::format("'{}' is no number", text));
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
      return damaged(fmt::format("0x{:02x} is no opcode", opcode));
  }
}

Result<Pickle> Pickle::read(std::string_view bytes, const std::string& name) {
  if (bytes.size() >= PickleMachine::kMaxBytes)
    return Error(err::kPickleLimit, fmt::format("'{}' has a pickle of {} bytes; {} are the limit",
                                                name, bytes.size(), PickleMachine::kMaxBytes));
  return PickleMachine(bytes, name).run();
}

}  // namespace hone
