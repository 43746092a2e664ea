// Reads Python pickles (protocols 0 to 5) as data. A class or function is only a name, and a call is only a record of a
// name and arguments: nothing is imported and no code runs.
//
//   const Pickle pickle = HONE_TRY(Pickle::read(bytes, "weights.bin"));
//   for (int64_t i = 0; i < pickle.root().pairs(); ++i) use(pickle.root().key(i).text());
//
// A value may occur in several places, and may contain itself: code that walks values must bound the depth.
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
  integer,  // an integer that fits int64_t
  big,      // an integer that does not fit; its value is not kept
  real,
  text,   // str; also Python 2's str
  bytes,  // bytes, bytearray
  list,
  tuple,
  dict,
  set,     // set, frozenset
  global,  // a class or function, by name
  // The result of a call callable()(args()), with its state() and the elements or pairs added to it.
  object,
  persistent,  // a value outside the pickle, which args() names
};

class Pickle;

// A value of a Pickle. It is valid as long as the Pickle exists and is not moved. The comments name the kinds that a
// function is for; for other kinds, and for elements that do not exist, it returns 0, "" or a value of kind none.
class PickleValue {
 public:
  PickleKind kind() const;
  bool is(PickleKind kind) const { return this->kind() == kind; }
  int64_t integer() const;                      // integer, boolean
  double real() const;                          // real
  std::string_view text() const;                // text, bytes: the bytes, not checked to be UTF-8
  bool is_global(std::string_view name) const;  // true for a global with the name "module.name"
  std::string global() const;                   // global: "module.name"

  // list, tuple, set: the number of elements; object: the number of elements added to it.
  int64_t size() const;
  PickleValue operator[](int64_t i) const;
  int64_t pairs() const;  // dict: the number of pairs; object: the number of pairs added to it
  PickleValue key(int64_t i) const;
  PickleValue value(int64_t i) const;
  // The value of the last pair whose key is this text; else none.
  PickleValue find(std::string_view key) const;

  PickleValue callable() const;  // object: the class or function that was called
  PickleValue args() const;      // object: the tuple of arguments; persistent: the id
  // object: the state that the opcode BUILD passes to the object, which Python would give to __setstate__.
  PickleValue state() const;

  // The index of this value in Pickle::value(). Two values with the same id are the same Python object.
  uint32_t id() const { return at_; }

 private:
  friend class Pickle;
  friend class PickleMachine;
  PickleValue(const Pickle* in, uint32_t at) : in_(in), at_(at) {}
  const Pickle* in_;
  uint32_t at_;
};

class Pickle {
 public:
  // Reads the pickle at the start of `bytes`, which must outlive the Pickle. `name` is the file in messages. Uses at
  // most 256 MiB of memory plus 16 times the size of `bytes`. Errors: H2701 the pickle is damaged, the message names
  // the byte; H2702 it ends too early; H2704 it needs more memory, or has more than 4 GiB.
  static Result<Pickle> read(std::string_view bytes, const std::string& name);

  PickleValue root() const { return {this, root_}; }
  // The length of the pickle, including the final opcode STOP.
  int64_t bytes() const { return bytes_; }
  // All values in the order in which they were created, including those that are not reachable from root().
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
    uint64_t length = 0;  // bytes of `data`
  };
  struct Box {
    // The elements; or keys and values in turn; or module and name of a global.
    std::vector<uint32_t> items;
    uint32_t callable = 0, args = 0, state = 0;
    bool mapping = false;  // `items` has keys and values
  };
  const Node& node(uint32_t at) const { return nodes_[at]; }
  const Box* box(uint32_t at) const;

  std::vector<Node> nodes_;
  std::deque<Box> boxes_;
  std::deque<std::string> texts_;  // texts and bytes that had to be decoded
  uint32_t root_ = 0;
  int64_t bytes_ = 0;
};

// Error H2703: `file` contains the class or function `name`, which the reader does not know. `remedy` is the advice.
Error refused_class(const std::string& file, const std::string& name, std::string remedy);

}  // namespace hone
