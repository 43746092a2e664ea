// The places that other machines know a pipeline's folders by. The files of a run in a bucket are made
// in a folder of this machine and then copied to the bucket; a path that a step records for others,
// in the registry or beside an evaluation, names the copy.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

// The variables that tell a step's command about them. `folder`: of all runs on this machine.
std::map<std::string, std::string> published_environment(const std::string& folder,
                                                         const std::string& root);

// In such a command: the URL of a path below that folder, where a running step has the name
// <step>.part; any other text unchanged.
std::string published_place(const std::string& path);
// A value with published_place() of every text in it.
OrderedJson published_places(OrderedJson value);

}  // namespace hone
