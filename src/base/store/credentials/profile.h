// The files of the AWS command line: sections of key = value.
//   docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hone {

using Profile = std::map<std::string, std::string>;  // keys in lower case

// The section [name], or [profile name] in ~/.aws/config; empty if it is missing. Nested lines (of
// "s3 =") and other lines are skipped.
Profile profile_of(std::string_view file, const std::string& name);

}  // namespace hone
