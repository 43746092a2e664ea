// Programs as a graph for TensorBoard's GRAPHS dashboard: a GraphDef (graph.proto, node_def.proto
// and attr_value.proto of TensorFlow).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace hone {

// Nodes are named <phase>/<scope>/<op>: "forward/h/3/attn/linear"; dots of a scope become slashes,
// so that blocks fold. A name that is taken gets _1, _2. Inputs are Placeholders "inputs/<name>";
// states are VarHandleOps "weights/<name>", "moments/<name>" and so on, by role. The programs run
// one after another: the next one reads the states that the one before wrote.
std::string program_graph(std::span<const Program* const> programs);

// The programs of an optimizer step to draw: the one with the most rows and tokens that computes
// gradients, then the update, if it is separate. Without training, an evaluation.
std::vector<const Program*> graphed_programs(std::span<const Program> programs);

}  // namespace hone
