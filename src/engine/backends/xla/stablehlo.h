// A whole program as one StableHLO module.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/backends/xla/state_arrays.h"
#include "engine/backends/xla/writer.h"
#include "engine/device/tpus.h"
#include "engine/graph/graph.h"

namespace hone::xla {

// A module with one function, main. Its arguments are the program's inputs, then the arrays of its states. Its results
// are the program's outputs, each value once, then the new versions of the arrays that have one. The argument of such
// an array is donated: the result takes its memory. Layers that repeat are loops (roll.h).
struct ModuleText {
  std::string text;
  std::vector<ValueId> outputs;  // values of the first results, in the order of Program::outputs
  std::vector<size_t>
      written;  // indices of the arrays with a new version, in the order of the results
  std::vector<Type> states;   // by array: the type of its states
  std::vector<Type> results;  // types of `outputs`
};

struct ModuleOptions {
  Integers integers = Integers::of_64_bits;  // for products of 32-bit numbers
  StateArrays arrays =
      {};  // the arrays of the program's states (arrays_of_program); empty: each state is an array
  int64_t fewest_layers =
      kFewestLoopLayers;  // the smallest number of equal layers that become a loop
};

// Writes a program as a module. The program must be lowered for this backend: writes() (write_ops.h) is true for all of
// its nodes.
ModuleText write_module(const Program& p, const ModuleOptions& options = {});

// Writes one module for the programs of all ranks; rank r is replica r (replicas.h). A state that has fewer rows on
// some ranks has the largest number of rows in the module; a rank's own rows come first. H1401: the programs differ too
// much (compare_replicas).
Result<ModuleText> write_replicas(std::span<const Program* const> ranks,
                                  const ModuleOptions& options = {});
// Whether the program has a node that exchanges data with other ranks.
bool has_collectives(const Program& p);

}  // namespace hone::xla
