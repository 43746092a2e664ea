// The files of the AWS command line: sections of key = value.
//   docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hone {

using Profile = std::map<std::string, std::string>;  // keys in lower case

// The section [name], or [profile name] as ~/.aws/config has it; empty without it. Nested lines (of
// "s3 =") are left out. Other lines are left out.
Profile profile_of(std::string_view file, const std::string& name);

}  // namespace hone
