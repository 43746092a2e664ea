// Tensors as lists of doubles, and the tables of primitives.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "engine/device/backend.h"

namespace hone::reference {

using Numbers = std::vector<double>;

Numbers load(const void* data, const Type& type);
void store(const Numbers& values, void* data, const Type& type);  // rounds to nearest even

// The facts from which a primitive is made: its operand and result types (absent operands: an empty
// type).
struct Call {
  Types in, out;
  Attrs attrs;
};
using Function = std::function<void(const Call&, const KernelArgs&)>;
using Table = std::map<std::string, Function, std::less<>>;

void add_elementwise(Table&);
void add_shapes(Table&);
void add_sums(Table&);
void add_groups(Table&);
void add_random(Table&);
void add_dynamic_codes(Table&);
void add_blocks(Table&);
void add_recurrent(Table&);

// Philox4x32-10 and the key of a dropout, written apart from base/core/philox.cc.
struct Words {
  uint32_t w[4];
};
Words philox(Words counter, uint32_t key0, uint32_t key1);

// Row-major strides in elements.
std::vector<int64_t> strides_of(const Shape& s);

}  // namespace hone::reference
