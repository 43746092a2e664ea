// The learning rate of a registered run as people know it, and the rows that a run evaluated.
#pragma once

#include <string>

#include "operate/monitor/run_list.h"
#include "operate/registry/registry.h"

namespace hone {

std::string learning_rate_of(const OrderedJson& settings);  // "5e-05"; "": none
// The facts that decide the rows that the run evaluated, with the names of its files.
OrderedJson evaluated_by(const RunRow& row);

}  // namespace hone
