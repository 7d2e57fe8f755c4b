"""samework: did the work change?"""
