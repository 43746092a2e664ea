// Errors. A fault of the user or of the world (a file, a server) is an Error, carried by Result<T>. A mistake in hone
// itself is a Bug, an exception that HONE_BUG_IF throws. Functions of hone throw nothing else, except OutputClosed
// (base/core/output.h) and std::bad_alloc.
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
// Every code is one line of the errors.def in its folder of src, one page docs/errors/<code>.md, and at least one
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

// A code. A folder of src declares its codes in errors.def, one a line. The kind is `lasting` unless the line names
// another kind:
//   HONE_ERROR(kFileMissing, "H0101", "the title")
//   HONE_ERROR(kNetwork, "H0107", "the title", transient)
struct ErrorCode {
  enum Kind : unsigned char {
    lasting,     // a retry gives the same error
    transient,   // the fault of a server, a connection or a disk: a retry may succeed
    unanswered,  // access failed, so nothing is known about the requested thing
  };
  const char* id;     // "H0101", never changed
  const char* title;  // heading of its page
  Kind kind = lasting;
};
#define HONE_ERROR(name, code, title, ...) \
  inline constexpr ::hone::ErrorCode name{code, title __VA_OPT__(, ::hone::ErrorCode::__VA_ARGS__)};

// An error: a code, a message, places and a remedy. Holds one pointer. A moved-from Error may only be assigned or
// destroyed. Only the moves are inline: nearly every function returns errors, so inline code would be compiled
// thousands of times.
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

  // Adds a place in the user's own words, such as "--train_file a.csv". With several calls, the innermost place is
  // added first. The overload for an rvalue returns it, for use in a `return`.
  Error&& at(std::string_view where) && { return std::move(at(where)); }
  Error& at(std::string_view where) &;
  // Sets the remedy: an imperative such as "check the path".
  Error&& todo(std::string_view remedy) && { return std::move(todo(remedy)); }
  Error& todo(std::string_view remedy) &;

  const char* code() const { return error_code().id; }  // "H0101"
  ErrorCode error_code() const;
  bool is(const ErrorCode& code) const;
  bool is_transient() const { return error_code().kind == ErrorCode::transient; }
  // True if the error is an answer about the requested thing (such as "it does not exist"), false
  // if there was no answer (such as a server that cannot be reached).
  bool is_answer() const { return error_code().kind == ErrorCode::lasting; }
  const std::string& what() const;                // the message, without code, places and remedy
  const std::vector<std::string>& where() const;  // the places, innermost first
  const std::string& remedy() const;              // "": none

  // The printed form at the top of this file, without a line break at the end.
  std::string text() const;

 private:
  template <class T>
  friend class Result;
  struct Said;
  Error() = default;  // the unused error of a Result that has a value
  Said& said() const;
  void forget();

  Said* said_ = nullptr;
};

// Either a value or an Error. Check ok() first: value(), * and -> throw a Bug if there is an Error. error() may be
// used only if ok() is false.
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
  Error error_;  // set if there is no value
};

struct Ok {};
using Status = Result<Ok>;  // for functions without a value: `return Ok{};` is success

// A mistake in hone itself. The main program (src/run) catches it, prints it with a request to report it, and exits
// with status 3.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
[[noreturn]] void throw_bug(const char* file, int line, std::string message);

// Throws a Bug if `cond` is true. The other arguments are the message: a format string of fmt and its values.
#define HONE_BUG_IF(cond, ...)                                           \
  do {                                                                   \
    if (__builtin_expect(static_cast<bool>(cond), 0))                    \
      ::hone::throw_bug(__FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (0)

// An expression: the value of the Result `expr`. If the Result has an Error, the enclosing function returns that Error.
#define HONE_TRY(expr)                                                         \
  ({                                                                           \
    auto&& hone_r_ = (expr);                                                   \
    if (__builtin_expect(!hone_r_.ok(), 0)) return std::move(hone_r_.error()); \
    std::move(hone_r_).value();                                                \
  })

// The candidate with the smallest edit distance to `word`; the first of several with this distance. "" if every
// distance is larger than a third of the length of `word` (and larger than 1). For messages such as "did you mean ...".
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hone
