// Converts compiled programs to a graph for TensorBoard's GRAPHS dashboard: a serialized GraphDef (graph.proto,
// node_def.proto and attr_value.proto of TensorFlow).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace hone {

// Converts programs to one graph. Nodes are named <phase>/<scope>/<op>: "forward/h/3/attn/linear". Dots of a scope (the
// name of the module that made the node) become slashes, so that TensorBoard can fold blocks. Equal names get _1, _2
// and so on. Inputs are Placeholder nodes "inputs/<name>". States (tensors that a program keeps, such as weights) are
// VarHandleOp nodes "weights/<name>", "moments/<name>" and so on, by the role of the state. The programs are in
// sequence: a program reads the states that the programs before it wrote.
std::string program_graph(std::span<const Program* const> programs);

// Chooses the programs of an optimizer step for the graph: from the programs that compute gradients the one with the
// most input elements, then the update program if there is a separate one. If no program trains, the evaluation program
// with the most input elements.
std::vector<const Program*> graphed_programs(std::span<const Program> programs);

}  // namespace hone
