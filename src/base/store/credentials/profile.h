// Reads the INI files of the AWS command line, ~/.aws/credentials and ~/.aws/config
// (docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hone {

// The settings of one profile: values by key, with keys in lower case.
using Profile = std::map<std::string, std::string>;

// Reads the section "[name]" or "[profile name]" of the text of a file; empty if there is no such section. Reads lines
// of the form "key = value". Skips comments, indented lines (nested settings, as below "s3 =") and all other lines.
Profile profile_of(std::string_view file, const std::string& name);

}  // namespace hone
