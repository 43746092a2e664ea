// Maps paths of a pipeline's files on this machine to the URLs of their copies. If a pipeline's root is a bucket, the
// files of a run are made in a folder of this machine and then copied to the bucket. A step that records a path for
// other machines, in the registry or beside an evaluation, must record the URL of the copy.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

// The environment variables for a step's command, from which published_place() reads: `folder` is the folder of all
// runs on this machine, `root` its URL.
std::map<std::string, std::string> published_environment(const std::string& folder,
                                                         const std::string& root);

// Call it in a step's command. Returns the URL for a path below the folder of all runs; the folder <step>.part of a
// running step becomes <step>. Returns any other text unchanged.
std::string published_place(const std::string& path);
// A JSON value in which published_place() is applied to every text.
OrderedJson published_places(OrderedJson value);

}  // namespace hone
