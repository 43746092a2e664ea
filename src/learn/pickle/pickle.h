// Python pickles (protocols 0 to 5) read as data. Classes and functions are only names, and calls
// are only records of a name and its arguments: nothing is looked up and nothing runs.
//
//   const Pickle pickle = HONE_TRY(Pickle::read(bytes, "weights.bin"));
//   for (int64_t i = 0; i < pickle.root().pairs(); ++i) use(pickle.root().key(i).text());
//
// Values may be shared and may hold themselves: code that walks them must bound the depth.
// Reference of the opcodes: Python's Lib/pickletools.py.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

enum class PickleKind : uint8_t {
  none,
  boolean,
  integer,  // fits int64_t
  big,      // an integer that does not
  real,
  text,   // str; also Python 2's str
  bytes,  // bytes, bytearray
  list,
  tuple,
  dict,
  set,         // set, frozenset
  global,      // a class or function, by name
  object,      // callable(), args(), then its additions: state(), elements or pairs
  persistent,  // args() names a value outside the pickle
};

class Pickle;

// A value of a Pickle, valid while the Pickle is not moved. A member that its kind does not have,
// and an element that does not exist, is 0, empty or none: check kind and size first.
class PickleValue {
 public:
  PickleKind kind() const;
  bool is(PickleKind kind) const { return this->kind() == kind; }
  int64_t integer() const;        // integer, boolean
  double real() const;            // real
  std::string_view text() const;  // text, bytes: the bytes themselves, UTF-8 not checked
  bool is_global(std::string_view name) const;  // "module.name"
  std::string global() const;                   // "module.name"; empty when it is not a global

  int64_t size() const;  // elements of a list, tuple or set, or appended to an object
  PickleValue operator[](int64_t i) const;
  int64_t pairs() const;  // of a dict, or set on an object
  PickleValue key(int64_t i) const;
  PickleValue value(int64_t i) const;
  PickleValue find(std::string_view key) const;  // of the last pair with that text; else none

  PickleValue callable() const;  // object
  PickleValue args() const;      // object, persistent
  PickleValue state() const;     // object: the argument of BUILD

  uint32_t id() const { return at_; }  // equal for a value met again

 private:
  friend class Pickle;
  friend class PickleMachine;
  PickleValue(const Pickle* in, uint32_t at) : in_(in), at_(at) {}
  const Pickle* in_;
  uint32_t at_;
};

class Pickle {
 public:
  // Reads the pickle that `bytes` begin with; they must outlive it. `name` is for messages.
  // Memory is at most 16 times the bytes and 256 MiB.
  // H2701 (damaged, with the byte), H2702 (ends too early), H2704 (over the limit).
  static Result<Pickle> read(std::string_view bytes, const std::string& name);

  PickleValue root() const { return {this, root_}; }
  int64_t bytes() const { return bytes_; }  // from the first byte through STOP
  // All values in the order in which they were read, also those that root() does not lead to.
  int64_t values() const { return static_cast<int64_t>(nodes_.size()); }
  PickleValue value(int64_t i) const { return {this, static_cast<uint32_t>(i)}; }

 private:
  friend class PickleValue;
  friend class PickleMachine;
  struct Node {
    PickleKind kind;
    uint32_t box = 0;  // containers, globals, objects: index into boxes_
    union {
      int64_t integer;
      double real;
      const char* data;
    };
    uint64_t length = 0;  // of data
  };
  struct Box {
    std::vector<uint32_t> items;  // elements; key, value, key, value; module, name
    uint32_t callable = 0, args = 0, state = 0;
    bool mapping = false;  // items are pairs
  };
  const Node& node(uint32_t at) const { return nodes_[at]; }
  const Box* box(uint32_t at) const;

  std::vector<Node> nodes_;
  std::deque<Box> boxes_;
  std::deque<std::string> texts_;  // those that had to be decoded
  uint32_t root_ = 0;
  int64_t bytes_ = 0;
};

// H2703: `file` needs a class or function that the reader does not know.
Error refused_class(const std::string& file, const std::string& name, std::string remedy);

}  // namespace hone
