// The body that registers a model, read and checked.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <string>
#include <vector>

#include "db/models.h"
#include "net/http.h"
#include "server/model_content.h"

namespace lathe::server {

struct WantedModel {
  db::models::Model model;  // as far as the body says it
  ModelOrigin origin;
  std::map<std::string, std::string> tags, properties;
  boost::json::object details;        // of the row: what nobody searches
  std::vector<std::string> datasets;  // ids
};

// Throws invalid. What a run's own token registers is of that run, said or not.
WantedModel parse_model_registration(const net::Request& request, const boost::json::value& body);

boost::json::value text_or_null(const std::string& text);

}  // namespace lathe::server
