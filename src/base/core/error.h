// Errors. A fault of the user or the world is an Error, carried by Result<T>.
// A mistake in hone itself is a Bug, thrown by HONE_BUG_IF. No other exception
// leaves a room.
//
//   Result<File> open(const std::string& path) {
//     if (...) return Error(kFileMissing, "cannot open 'a.csv': no such file")
//                         .at("--train_file a.csv").todo("check the path");
//     ...
//   }
//   Result<int> rows(const std::string& path) {
//     File f = HONE_TRY(open(path));        // returns the Error to the caller
//     return count(f);
//   }
//
// Every code is one line of a room's errors.def, one page docs/errors/<code>.md, and at least one
// test that names it. Printed form:
//
//   H1203  matmul: inner sizes differ: lhs f32[8,512,768], rhs f32[2304,768]
//     at   block 3, attention, qkv  (weight h.3.attn.c_attn.weight from ckpt/model.safetensors)
//     do   GPT-2 keeps this weight as [in, out], the file has [out, in]: see docs/errors/H1203.md
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

class Error;
[[noreturn]] void throw_no_value(const Error& error);  // a Bug: the caller did not check ok()

// A code. A room declares it in errors.def, with its kind, unless it is `lasting`:
//   HONE_ERROR(kFileMissing, "H0101", "the title")
//   HONE_ERROR(kNetwork, "H0107", "the title", transient)
struct ErrorCode {
  enum Kind : unsigned char {
    lasting,
    transient,   // the fault of a server, a connection or a disk: a retry may succeed
    unanswered,  // access failed, so nothing is known about the requested thing
  };
  const char* id;     // "H0101", never changed
  const char* title;  // heading of its page
  Kind kind = lasting;
};
#define HONE_ERROR(name, code, title, ...) \
  inline constexpr ::hone::ErrorCode name{code, title __VA_OPT__(, ::hone::ErrorCode::__VA_ARGS__)};

// Holds one pointer. Only the moves are inline: nearly every function returns errors, so inline code
// would be compiled thousands of times.
class [[nodiscard]] Error {
 public:
  Error(const ErrorCode& code, std::string_view what);
  Error(Error&& from) noexcept : said_(std::exchange(from.said_, nullptr)) {}
  Error(const Error& from);
  Error& operator=(Error from) noexcept {
    std::swap(said_, from.said_);
    return *this;
  }
  ~Error() {
    if (said_) forget();
  }

  // Adds a place in the user's own words; may be called more than once, innermost first.
  Error&& at(std::string_view where) && { return std::move(at(where)); }
  Error& at(std::string_view where) &;
  // Sets the remedy.
  Error&& todo(std::string_view remedy) && { return std::move(todo(remedy)); }
  Error& todo(std::string_view remedy) &;

  const char* code() const { return error_code().id; }
  ErrorCode error_code() const;
  bool is(const ErrorCode& code) const;
  bool is_transient() const { return error_code().kind == ErrorCode::transient; }
  // True if the error is an answer about the requested thing (such as "it does not exist"), false
  // if there was no answer (such as a server that cannot be reached).
  bool is_answer() const { return error_code().kind == ErrorCode::lasting; }
  const std::string& what() const;
  const std::vector<std::string>& where() const;
  const std::string& remedy() const;

  // The three-part text above, without a trailing line break.
  std::string text() const;

 private:
  template <class T>
  friend class Result;
  struct Said;
  Error() = default;  // of a Result that has a value
  Said& said() const;
  void forget();

  Said* said_ = nullptr;
};

// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place, std::move(value)) {}
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Error> &&
           !std::is_same_v<std::remove_cvref_t<U>, Result>) Result(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}
  Result(Error e) : error_(std::move(e)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { return error_; }
  const Error& error() const { return error_; }

 private:
  void check() const {
    if (__builtin_expect(!value_, 0)) throw_no_value(error_);
  }

  std::optional<T> value_;
  Error error_;  // has content if there is no value
};

struct Ok {};
using Status = Result<Ok>;  // success carries nothing: return Ok{};

// A mistake in hone itself: caught in run/, printed with a request to report it, exit status 3.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
[[noreturn]] void throw_bug(const char* file, int line, std::string message);

// Throws Bug with the fmt-formatted message when `cond` holds.
#define HONE_BUG_IF(cond, ...)                                           \
  do {                                                                   \
    if (__builtin_expect(static_cast<bool>(cond), 0))                    \
      ::hone::throw_bug(__FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (0)

// Value of a Result, or return its Error from the enclosing function.
#define HONE_TRY(expr)                                                         \
  ({                                                                           \
    auto&& hone_r_ = (expr);                                                   \
    if (__builtin_expect(!hone_r_.ok(), 0)) return std::move(hone_r_.error()); \
    std::move(hone_r_).value();                                                \
  })

// The nearest of `candidates` to `word` (edit distance, at most a third of its length), or "".
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hone
