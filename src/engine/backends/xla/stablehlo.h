// A whole program as one StableHLO module.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/backends/xla/writer.h"
#include "engine/graph/graph.h"

namespace hone::xla {

// main's arguments are the inputs of the program, then its states; its results are the outputs, each
// value once, then the new versions of the states that have one. Such a state's argument is donated:
// its result takes its place.
struct ModuleText {
  std::string text;
  std::vector<ValueId> outputs;  // in the order of their first name
  std::vector<size_t> written;   // indices of the states with a new version
  std::vector<Type> states;      // of the arguments that are states
  std::vector<Type> results;     // of `outputs`
};

// `p` is lowered for this backend: writer_of() knows each of its ops. `integers`: those that the device has.
ModuleText write_module(const Program& p, Integers integers = Integers::of_64_bits);

// One module for the programs of all ranks, which its replicas run: rank r is replica r (replicas.h). A rank's
// state with fewer rows than that of another one has its rows first. H1401.
Result<ModuleText> write_replicas(std::span<const Program* const> ranks,
                                  Integers integers = Integers::of_64_bits);
bool has_collectives(const Program& p);

}  // namespace hone::xla
