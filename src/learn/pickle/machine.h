// The stack machine that reads a pickle (pickle.h): one pass over the bytes, without recursion, and without running
// code.
#pragma once

#include <charconv>
#include <cstring>
#include <optional>

#include "learn/pickle/errors.h"
#include "learn/pickle/pickle.h"

namespace hone {

class PickleMachine {
 public:
  // The most bytes of a pickle, so that 32 bits can number its values.
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 32;

  PickleMachine(std::string_view bytes, const std::string& name) : in_(bytes), name_(name) {
    for (const PickleKind kind : {PickleKind::none, PickleKind::boolean, PickleKind::boolean})
      make(kind);
    out_.nodes_[2].integer = 1;
  }

  // Reads the pickle. Call it only once. Errors: H2701, H2702, H2704 as Pickle::read.
  Result<Pickle> run() {
    while (!stopped_) {
      start_ = at_;
      HONE_TRY(step(HONE_TRY(number<uint8_t>())));
      if (cost_ > kFree + kCostPerByte * static_cast<int64_t>(in_.size()))
        return Error(err::kPickleLimit,
                     fmt::format("'{}' unpacks to more than {} MiB and {} times its {} bytes",
                                 name_, kFree >> 20, kCostPerByte, in_.size()))
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
    return Error(err::kPickleDamaged, fmt::format("'{}' is not a whole pickle: {}", name_, what))
        .at(fmt::format("byte {}", start_))
        .todo("get the file again from its source, or save it again");
  }

  // ---- bytes: read from the current position; H2702 at the end of the bytes ----
  Result<std::string_view> take(uint64_t n) {
    if (n > in_.size() - at_)
      return Error(err::kPickleCut,
                   fmt::format("'{}' ends inside its pickle: {} bytes are needed, {} are left",
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

  // ---- values: each function creates one and returns its index ----
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
  // The integer in `bytes`: two's complement, least significant byte first.
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
      return damaged(fmt::format("'{}' is not an integer", digits.substr(0, 40)));
    return integer(x);
  }

  // The bytes value for a call that only creates bytes: _codecs.encode(text, "latin1") of protocols below 3, or
  // bytes() and bytearray(). None for other calls.
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
    if (stack_.size() <= floor()) return damaged("an opcode needs a value and the stack is empty");
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
    if (marks_.empty()) return damaged("an opcode needs a MARK and there is none");
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

  // Appends `items` to the container on top of the stack.
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
    // Picklers count from 0, and each entry takes at least one byte of the pickle.
    if (index >= in_.size())
      return Error(err::kPickleLimit,
                   fmt::format("'{}' refers to memo entry {} in a pickle of {} bytes", name_, index,
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

  // Execute one opcode. Each function passes an opcode that it does not know to the next one.
  Status step(uint8_t opcode);            // the stream, the stack and the memo
  Status value_step(uint8_t opcode);      // numbers, texts and bytes
  Status container_step(uint8_t opcode);  // lists, tuples, dicts and sets
  Status object_step(uint8_t opcode);     // classes, and the objects that they make
  Status old_step(uint8_t opcode);        // opcodes of old protocols, and those that are refused
  Result<Ref> quoted(std::string_view text);
  Ref escaped(std::string_view text);

  static constexpr Ref kEmpty = ~Ref{0};
  std::string_view in_;
  const std::string& name_;
  size_t at_ = 0, start_ = 0;  // offsets: of the next byte, and of the current opcode
  bool stopped_ = false;
  int64_t cost_ = 0;
  Pickle out_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::vector<Ref> memo_;
  uint64_t remembered_ = 0;
};

}  // namespace hone
