// Internal to the reference backend: tensors as lists of doubles, and the table from an op to its function.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "engine/device/backend.h"

namespace hone::reference {

using Numbers = std::vector<double>;

// Converts a row-major tensor of any dtype to doubles, in the order of its elements.
Numbers load(const void* data, const Type& type);
// Converts doubles back to the tensor's dtype; floats are rounded to nearest even.
void store(const Numbers& values, void* data, const Type& type);

// The types and attributes of the node that a function computes.
struct Call {
  Types in, out;  // one for each operand and result; an empty type for an operand that is absent
  Attrs attrs;
};
using Function = std::function<void(const Call&, const KernelArgs&)>;
using Table = std::map<std::string, Function, std::less<>>;  // by the op's name

// Each adds the ops of one kind to the table.
void add_elementwise(Table&);
void add_shapes(Table&);
void add_sums(Table&);
void add_groups(Table&);
void add_random(Table&);
void add_dynamic_codes(Table&);
void add_blocks(Table&);
void add_recurrent(Table&);

// The random generator Philox4x32-10: returns the block of four words for a counter and a key. It shares no code with
// base/core/philox.cc, so that a test compares two implementations.
struct Words {
  uint32_t w[4];
};
Words philox(Words counter, uint32_t key0, uint32_t key1);

// Row-major strides in elements.
std::vector<int64_t> strides_of(const Shape& s);

}  // namespace hone::reference
