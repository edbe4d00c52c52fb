// Precompiled header of the unit tests. Files still include what they use.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prelude.h"
